import { defineConsumer, ignore, park, type SqlTransaction } from '../../src/index.ts'
import { postgresQueue } from '../../src/postgres.ts'

/** Does to each message what its body says. */
export default defineConsumer<{ id: string; does: string; type?: string }, SqlTransaction, 'gateway', 'out'>({
  name: 'counted',
  owner: 'tests',
  risk: 'projection',
  source: postgresQueue('counted_in'),
  message: { types: ['known', 'listed'] },
  identity: { id: message => message.id, type: message => message.type ?? 'known' },
  effect: {
    external: { gateway: { url: process.env.COUNTED_GATEWAY!, allowPrivate: true } },
    publish: { out: { broker: 'postgres', queue: 'counted_out' } },
  },
  failure: { attemptsMax: 3, delayMs: 1, delayMaxMs: 1, breaker: false },
  async handle({ message, effects }) {
    switch (message.does) {
      case 'call':
        return effects.external('gateway', { key: message.id, body: message })
      case 'publish':
        return effects.publish('out', { body: message })
      case 'ignore':
        return ignore('nothing to do')
      case 'park':
        return park('a person decides')
      case 'fail':
        throw Object.assign(new Error('always'), { code: 'ECONNRESET' })
    }
  },
})

/**
 * What the compiler knows of a contract: the type of its messages, the names of its targets, and which options
 * contradict each other. Nothing here is run; `contract-messages.test.ts` reads the messages of its errors.
 */
import { defineConsumer } from 'onceward'
import { postgresQueue } from 'onceward/postgres'
import { z } from 'zod'

const base = { name: 'x', owner: 'team', source: postgresQueue('q') }
const order = z.object({ id: z.string(), amount: z.number() })
const gateway = { url: 'https://gateway.example/charges' }

export const inferred = defineConsumer({
  ...base,
  risk: 'money',
  message: order,
  identity: { id: m => m.id, businessDigest: m => m.amount.toFixed(2), businessKey: m => m.id },
  effect: { external: { gateway }, publish: { out: { broker: 'postgres', queue: 'out' } } },
  async handle({ message, tx, effects }) {
    const amount: number = message.amount
    await tx.query('select $1', [amount])
    effects.external('gateway', { body: amount })
    effects.publish('out', { body: amount })
    // @ts-expect-error no target has this name
    effects.external('nope', { body: amount })
    // @ts-expect-error a target of messages is none of calls
    await effects.call('out', { body: amount })
    // @ts-expect-error messages have no such field
    message.nope
  },
})

export const annotated = defineConsumer({
  ...base,
  risk: 'money',
  identity: { id: (m: { key: string }) => m.key, orderKey: m => m.key },
  order: 'key',
  async handleBatch({ batch }) {
    const key: string | undefined = batch[0]?.message.key
    // @ts-expect-error the contract declares no target
    batch[0]?.effects.external('gateway', { body: key })
  },
})

export const named = defineConsumer<{ key: string }, unknown, 'gateway'>({
  ...base,
  risk: 'money',
  identity: { id: m => m.key },
  effect: { external: { gateway } },
  handle({ effects }) {
    effects.external('gateway', { body: 1 })
    // @ts-expect-error no target has this name
    effects.external('nope', { body: 1 })
  },
})

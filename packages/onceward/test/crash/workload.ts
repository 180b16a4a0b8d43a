import type {
  ConsumerContract,
  PublishTarget,
  QueryAnswer,
  SourceDeclaration,
  SqlTransaction,
} from 'onceward'
import { reject } from '../../src/engine/batch/verdicts.ts'
import { stableId } from '../../src/message/stable-id.ts'

/**
 * A small mixed workload that passes through every window: effects, intents, duplicates, conflicts, dead
 * letters, parking.
 */
export interface WorkMessage {
  id: string
  kind: 'charge' | 'reject' | 'fail'
  amount: number
}

export const consumerName = 'crash_work'
export const attemptsMax = 2

/**
 * What remembers and where the position is kept; on queues only the first. `stored`: workers apply what was
 * stored. `handed`: they have room for a whole batch as it is stored. `deferred`: they try again what failed.
 */
export type Memory = 'after effect' | 'stored' | 'handed' | 'deferred' | 'with effect' | 'checkpoint'

const memories = {
  'after effect': {},
  stored: { inbox: { mode: 'stored', leaseMs: 1_500, workers: 2 } },
  handed: { inbox: { mode: 'stored', leaseMs: 1_500, workers: 8 } },
  deferred: { inbox: { leaseMs: 1_500, workers: 2 } },
  'with effect': { settle: { when: 'with effect' } },
  checkpoint: { dedup: 'checkpoint', order: 'partition' },
} as const satisfies Record<Memory, Partial<ConsumerContract>>

/**
 * Charges that go where no key is taken: the gateway hangs up on the first call of each, having charged the
 * first two and not the others.
 */
export const keyless = new Set(['charge-2', 'charge-7', 'charge-12', 'charge-17'])

export const tables = `
  create table effect (id text primary key, times integer not null)`

export interface WorkOptions {
  readonly declaration: SourceDeclaration
  readonly deadLetter: string | null
  readonly gatewayUrl: string
  readonly memory?: Memory
  readonly target?: PublishTarget
  readonly freezeIn?: string
  readonly attemptsMax?: number
  readonly handlerTimeoutMs?: number
}

export function workContract(options: WorkOptions): ConsumerContract<WorkMessage, SqlTransaction> {
  return {
    name: consumerName,
    owner: 'tests',
    risk: 'money',
    source: options.declaration,
    ...memories[options.memory ?? 'after effect'],
    identity: { id: m => m.id },
    effect: {
      ...(options.target && { publish: { charged: options.target } }),
      external: {
        gateway: {
          url: options.gatewayUrl,
          allowPrivate: true,
          timeoutMs: 2_000,
          retryDelayMs: 20,
          retryDelayMaxMs: 100,
          attemptsMax: 50,
          concurrencyMax: 4,
        },
        keyless: {
          url: `${options.gatewayUrl}/keyless`,
          allowPrivate: true,
          keyHeader: null,
          policy: 'query first',
          query: async ({ key }) => {
            const response = await fetch(`${options.gatewayUrl}/keyless?key=${key}`)
            return (await response.text()) as QueryAnswer
          },
          queryDelayMs: 50,
          timeoutMs: 2_000,
          retryDelayMs: 20,
          retryDelayMaxMs: 100,
          attemptsMax: 50,
        },
      },
    },
    failure: {
      attemptsMax: options.attemptsMax ?? attemptsMax,
      delayMs: 10,
      delayMaxMs: 20,
      ...(options.memory === 'deferred' && { mode: 'defer' }),
      deadLetter: {
        ...(options.deadLetter !== null && { to: options.deadLetter }),
        passingAcceptedBy: 'head of testing',
      },
    },
    batch: { sizeMax: 8, deliveriesMax: 16, handlerTimeoutMs: options.handlerTimeoutMs ?? 10_000 },
    async handle({ message, tx, effects }) {
      if (message.kind === 'reject') return reject('not acceptable')
      await tx.query(
        'insert into effect (id, times) values ($1, 1) on conflict (id) do update set times = effect.times + 1',
        [message.id],
      )
      if (message.id === options.freezeIn) await new Promise(() => process.send?.('frozen'))
      if (message.kind === 'fail') throw new Error('always fails after writing')
      const target = keyless.has(message.id) ? 'keyless' : 'gateway'
      effects.external(target, { key: message.id, body: { id: message.id, amount: message.amount } })
      if (options.target) effects.publish('charged', { key: message.id, body: { charged: message.id } })
      return undefined
    },
  }
}

/** As a downstream inbox knows the message that a charge causes. */
export const chargedId = (id: string) => stableId(consumerName, id, 'charged', 0)

export interface Produced {
  readonly body: string
  readonly id: string | null
}

/** 30 charges (10 of them twice), 3 conflicts, 2 rejected, 2 that always fail, 3 that cannot be read. */
export function workMessages(memory: Memory = 'after effect'): Produced[] {
  const message = (id: string, kind: WorkMessage['kind'], amount: number): Produced => ({
    id,
    body: JSON.stringify({ id, kind, amount }),
  })
  const charges = Array.from({ length: 30 }, (_, n) => message(`charge-${n}`, 'charge', n + 1))
  // A position remembers no ids: what a producer sends twice it cannot tell, and the contract says so.
  const repeats =
    memory === 'checkpoint'
      ? []
      : [...charges.slice(0, 10), ...[3, 4, 5].map(n => message(`charge-${n}`, 'charge', 1_000 + n))]
  return [
    ...charges,
    ...repeats,
    message('reject-0', 'reject', 1),
    message('reject-1', 'reject', 1),
    message('fail-0', 'fail', 1),
    message('fail-1', 'fail', 1),
    { id: null, body: '{"id": "broken' },
    { id: null, body: 'null' },
    { id: null, body: '{"id": ""}' },
  ]
}

/** What must stand at the end, whatever was killed on the way. */
export function expectedOf(memory: Memory = 'after effect') {
  return { charges: 30, conflicts: memory === 'checkpoint' ? 0 : 3, rejected: 2, parked: 2, unreadable: 3 }
}

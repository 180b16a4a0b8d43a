import { randomUUID } from 'node:crypto'
import type { ConsumerContract, SourceDeclaration, SqlTransaction } from 'onceward'

/** One event of a key's history: `seq` counts 1, 2, 3 … within its key. */
export interface WorkEvent {
  readonly id: string
  readonly key: string
  readonly seq: number
}

/** What remembers, and in which order things are applied. */
export const memories = {
  'offsets on the broker': { order: 'key' },
  'position with the effect': { order: 'key', settle: { when: 'with effect' } },
  'nothing but the position': { order: 'partition', dedup: 'checkpoint' },
} as const satisfies Record<string, Partial<ConsumerContract>>

export type Memory = keyof typeof memories

/**
 * No key is unique: were an event applied twice, a second row would stand here. Numbers are given in the
 * order of applying.
 */
export const tables = `
  create table applied (
    number bigint generated always as identity,
    id text not null,
    key text not null,
    seq integer not null,
    position text not null,
    member text not null,
    attempt text not null
  );
  create index on applied (id)`

export interface WorkOptions {
  readonly declaration: SourceDeclaration
  readonly memory: Memory
  readonly member: string
  /**
   * Called inside the open transaction, after the write that carries the attempt's name. False: it shall not
   * stumble.
   */
  readonly whileApplying: (event: WorkEvent, attempt: string) => Promise<boolean>
}

/**
 * Of a hundred tries: what fails is tried again a moment later, and whatever stands behind it gets done
 * before.
 */
const stumblesPercent = 1

export function workContract(options: WorkOptions): ConsumerContract<WorkEvent, SqlTransaction> {
  return {
    name: 'rebalance_work',
    owner: 'tests',
    risk: 'projection',
    source: options.declaration,
    ...memories[options.memory],
    identity: { id: m => m.id, orderKey: m => m.key },
    failure: { attemptsMax: 100, delayMs: 400, delayMaxMs: 400 },
    // A handler that is frozen keeps its transaction: only the fence stands between it and a second effect.
    batch: { sizeMax: 40, handlerTimeoutMs: 90_000 },
    async handle({ message, envelope, tx }) {
      const attempt = randomUUID()
      const { id, key, seq } = message
      await tx.query(
        'insert into applied (id, key, seq, position, member, attempt) values ($1, $2, $3, $4, $5, $6)',
        [id, key, seq, envelope.position, options.member, attempt],
      )
      const mayStumble = await options.whileApplying(message, attempt)
      if (mayStumble && Math.random() * 100 < stumblesPercent) throw new Error('stumbled')
    },
  }
}

import type { Consumer } from '../../contract/define-consumer.ts'
import { findConsumer } from '../../drivers/postgres/names/find-consumer.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import { countOld } from '../../drivers/postgres/retention/count-old.ts'
import { readDays } from '../../drivers/postgres/retention/marker-tables.ts'
import { readCutoffs } from '../../drivers/postgres/retention/read-cutoffs.ts'
import { OncewardError } from '../../errors.ts'
import { termsOf } from './terms.ts'

export interface PlannedKind {
  readonly kind: string
  readonly keepMs: number
  readonly before: string
  /** Finished rows only: unfinished rows stay, regardless of age. */
  readonly rows: number
  /** An unfinished message, held or queued, is older than the term: every later row stays. */
  readonly heldBack: boolean
}

/** The rows that a pass would remove now. Reads every table once, changes nothing. */
export async function planPurge(
  pool: SqlPool,
  consumerId: number,
  retention: NonNullable<Consumer['retention']>,
): Promise<readonly PlannedKind[]> {
  const { cutoffs } = await readCutoffs(pool, consumerId, termsOf(retention))
  const planned: PlannedKind[] = []
  for (const { kind, keepMs, cutoff, table, heldBack, tenancy } of cutoffs) {
    const days = kind.kind === 'markers' ? await readDays(pool, consumerId, cutoff) : []
    const going = retention.partitions === 'daily' ? days.filter(day => day.isPast) : days
    let count = 0
    for (const one of [table, ...going.map(day => day.table)])
      count += await countOld(pool, one, kind, consumerId, cutoff, tenancy)
    planned.push({ kind: kind.kind, keepMs, before: cutoff, rows: count, heldBack })
  }
  return planned
}

/** The consumer's id. Throws when it never ran on this database, as in the wrong environment. */
export async function consumerIdOf(
  pool: Pick<SqlPool, 'query'>,
  { name, generation }: Pick<Consumer, 'name' | 'generation'>,
): Promise<number> {
  const id = await findConsumer(pool, name, generation)
  if (id !== null) return id
  throw new OncewardError(
    'usage',
    `Consumer ${name}, generation ${generation}, never ran on this database. Nothing was changed. Check ONCEWARD_DATABASE_URL.`,
  )
}

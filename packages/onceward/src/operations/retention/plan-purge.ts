import type { Consumer } from '../../contract/define-consumer.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import { OncewardError } from '../../errors.ts'
import { readCutoffs } from './cutoffs.ts'
import { type RetentionKind, termsOf } from './kinds.ts'
import { readDays } from './marker-tables.ts'

export interface PlannedKind {
  readonly kind: string
  readonly keepMs: number
  readonly before: string
  /** What is old enough but not finished stays, and is not counted. */
  readonly rows: number
  /** An unfinished message is older than the term: everything since stays. */
  readonly heldBack: boolean
}

/** What a pass would remove now. Reads every table once, changes nothing. */
export async function planPurge(
  pool: SqlPool,
  consumerId: number,
  retention: NonNullable<Consumer['retention']>,
): Promise<readonly PlannedKind[]> {
  const { cutoffs } = await readCutoffs(pool, consumerId, termsOf(retention))
  const planned: PlannedKind[] = []
  for (const { kind, keepMs, cutoff, table, heldBack } of cutoffs) {
    const days = kind.kind === 'markers' ? await readDays(pool, consumerId, cutoff) : []
    const going = retention.partitions === 'daily' ? days.filter(day => day.isPast) : days
    let count = 0
    for (const one of [table, ...going.map(day => day.table)])
      count += (await pool.query(countIn(one, kind), [consumerId, cutoff])).rows[0].count
    planned.push({ kind: kind.kind, keepMs, before: cutoff, rows: count, heldBack })
  }
  return planned
}

const countIn = (table: string, { mine, since, finished }: RetentionKind) => `
  select count(*)::float8 as count from ${table} t where ${mine} and ${since} < $2::timestamptz and ${finished}`

/** The consumer's row in this database. Throws where it never ran here, as in the wrong environment. */
export async function consumerIdOf(
  pool: Pick<SqlPool, 'query'>,
  { name, generation }: Pick<Consumer, 'name' | 'generation'>,
): Promise<number> {
  const { rows } = await pool.query('select id from onceward.consumer where name = $1 and generation = $2', [
    name,
    generation,
  ])
  if (rows.length > 0) return rows[0].id
  throw new OncewardError(
    'usage',
    `Consumer ${name}, generation ${generation}, never ran on this database. Nothing was changed. Check ONCEWARD_DATABASE_URL.`,
  )
}

import type { SqlPool } from '../pool.ts'

/** A message that an operator skipped or erased, or that a rebuild closed. */
export interface ClosedRow {
  readonly id: string
  readonly consumer: string
  readonly generation: number
  readonly messageId: string | null
  readonly digest: string
  readonly how: 'skipped' | 'deleted' | 'rebuilt'
  readonly at: Date
  readonly by: string
  readonly because: string
  /** Why it was set aside. */
  readonly code: string
  readonly bytesKept: boolean
}

export interface ClosedFilter {
  readonly consumer?: string | undefined
  readonly after?: string | undefined
  readonly countMax: number
}

/** In order of their ids, with the total count. */
export async function readClosed(
  pool: SqlPool,
  { consumer, after, countMax }: ClosedFilter,
): Promise<{ readonly total: number; readonly rows: readonly ClosedRow[] }> {
  const of = '$1::text is null or consumer_id in (select id from onceward.consumer where name = $1)'
  const total = await pool.query(`select count(*)::integer from onceward.closed_held where ${of}`, [
    consumer ?? null,
  ])
  const { rows } = await pool.query(
    `select x.held_id::text as id, c.name as consumer, c.generation, x.message_id as "messageId", encode(x.digest, 'hex') as digest, x.closed_as as how, x.at,
       x.actor as by, x.reason as because, x.record ->> 'code' as code, x.body is not null as "bytesKept"
     from onceward.closed_held x join onceward.consumer c on c.id = x.consumer_id
     where (${of}) and x.held_id > coalesce($2::bigint, 0) order by x.held_id limit $3`,
    [consumer ?? null, after ?? null, countMax],
  )
  return { total: total.rows[0].count, rows }
}

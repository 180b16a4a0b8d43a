import type { SqlPool } from '../pool.ts'

/** A source and the consumer that reads it. */
export interface KnownReader {
  readonly consumer: string
  readonly kind: string
  readonly place: string
  readonly reader: string
  /** Null when an earlier version recorded it. */
  readonly virtualHost: string | null
  readonly lastAt: Date
}

export async function readReaders(pool: SqlPool): Promise<readonly KnownReader[]> {
  const { rows } = await pool.query(
    'select consumer_name as consumer, kind, source as place, consumer_group as reader, virtual_host as "virtualHost", last_at as "lastAt" from onceward.reader order by 1, 2, 3, 4, 5',
  )
  return rows as KnownReader[]
}

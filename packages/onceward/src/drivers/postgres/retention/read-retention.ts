import type { SqlPool } from '../pool.ts'

export interface RetentionStatus {
  readonly consumers: readonly KindStatus[]
  readonly horizons: readonly {
    readonly consumer: string
    readonly generation: number
    readonly purgedBefore: Date
    readonly purgedCount: number
  }[]
  readonly tables: readonly { readonly table: string; readonly rowsAbout: number; readonly bytes: number }[]
}

export interface KindStatus {
  readonly consumer: string
  readonly generation: number
  readonly kind: string
  readonly keepMs: number
  readonly action: string
  readonly removed: number
  readonly lastBegan: Date | null
  readonly lastEnded: Date | null
  readonly next: Date | null
  /** Why the last pass was incomplete. */
  readonly note: string | null
}

const tables = ['inbox', 'business_key', 'note', 'attempt', 'ledger', 'held', 'outbox', 'receipt']

/**
 * How long rows are kept, how many were removed, when the next pass is due, and the table sizes. Row counts
 * are the planner’s estimates.
 */
export async function readRetention(pool: Pick<SqlPool, 'query'>): Promise<RetentionStatus> {
  const consumers = await pool.query(`
    select name as consumer, generation, kind, (extract(epoch from keep) * 1000)::float8 as "keepMs", action,
      purged_count::float8 as removed, began_at as "lastBegan", ended_at as "lastEnded", next_at as next, note
    from onceward.retention join onceward.consumer on consumer.id = consumer_id order by 1, 2, 3`)
  const horizons = await pool.query(`
    select name as consumer, generation, purged_before as "purgedBefore", purged_count::float8 as "purgedCount"
    from onceward.horizon join onceward.consumer on consumer.id = consumer_id order by 1, 2`)
  const sizes = await pool.query(
    `select c.relname as table, sum(greatest(0, part.reltuples))::float8 as "rowsAbout", sum(pg_total_relation_size(part.oid))::float8 as bytes
     from pg_class c join pg_class part on part.oid = c.oid or part.oid in (select relid from pg_partition_tree(c.oid) where isleaf)
     where part.relkind = 'r' and c.relnamespace = 'onceward'::regnamespace and c.relname = any($1::text[]) group by c.oid, c.relname order by 3 desc`,
    [tables],
  )
  return { consumers: consumers.rows, horizons: horizons.rows, tables: sizes.rows }
}

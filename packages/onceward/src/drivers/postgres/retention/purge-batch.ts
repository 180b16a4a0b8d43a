import type { Reach } from '../../../crash-points.ts'
import { inTransaction, setLocal } from '../in-transaction.ts'
import { jitSettings } from '../no-jit.ts'
import type { SqlClient, SqlPool } from '../pool.ts'
import { expiredSql, type RetentionKind, type TenantTerms, tenancyValues } from './kinds.ts'

/** Rows of a kind between two blocks of its table. */
export interface PageRange {
  readonly kind: RetentionKind
  /** The table, or the partition that is scanned. */
  readonly table: string
  readonly consumerId: number
  /** Exact to the microsecond, as the database formatted it. */
  readonly cutoff: string
  readonly tenancy?: TenantTerms | undefined
  readonly fromBlock: number
  readonly toBlock: number
}

/** Where removed rows are kept. Resolves when they are on disk. */
export interface RowArchive {
  write(rows: readonly unknown[]): Promise<void>
}

/** First key of the advisory locks: 'reta'. The second is the consumer. */
const lockClass = 0x72657461

/**
 * The timeouts bound waits for a table lock and row locks of a frozen process. Only the blocks of the range
 * are read.
 */
const settings = setLocal({
  lock_timeout: '2s',
  statement_timeout: '60s',
  idle_in_transaction_session_timeout: '60s',
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  ...jitSettings,
})

/**
 * Scans the table block by block (a TID range scan) instead of an index: markers have no index on their age,
 * and one would slow every insert. Locked rows are skipped, so a removal never waits for a batch and cannot
 * be part of a deadlock; other transactions wait for one short transaction at most. Removes nothing when the
 * table was partitioned since the pass started: then a ctid occurs in every partition.
 */
const finished = ({ table, kind, tenancy }: PageRange) => `
  select t.ctid from ${table} t where t.ctid >= $2::tid and t.ctid < $3::tid and t.tableoid = '${table}'::regclass and ${kind.mine} and ${expiredSql(kind, 4, tenancy)}
    and ${kind.finished} for update of t skip locked`

const remove = (stretch: PageRange) =>
  `delete from ${stretch.table} where ctid = any(array(${finished(stretch)}))`

const moveHorizon = `
  insert into onceward.horizon as h (consumer_id, purged_before, purged_count) values ($1, $2::timestamptz, $3)
  on conflict (consumer_id) do update set purged_before = greatest(h.purged_before, excluded.purged_before),
    purged_count = h.purged_count + excluded.purged_count, at = clock_timestamp()`

/** Also counts by day, for explanations. */
const countIn = `
  with counted as (
    update onceward.retention set purged_count = purged_count + $3 where consumer_id = $1 and kind = $2)
  insert into onceward.purged as p (consumer_id, kind, count, before) values ($1, $2, $3, $4::timestamptz)
  on conflict (consumer_id, kind, day) do update set count = p.count + excluded.count, last_at = excluded.last_at,
    before = greatest(p.before, excluded.before)`

/**
 * Removes the finished old rows of the range in one transaction; null when another process is removing rows
 * of this consumer.
 */
export function purgeBatch(
  pool: SqlPool,
  stretch: PageRange,
  archive: RowArchive | null,
  reach: Reach,
): Promise<number | null> {
  return inTransaction(pool, async client => {
    await client.query(settings)
    const { rows: locked } = await client.query('select pg_try_advisory_xact_lock($1, $2) as mine', [
      lockClass,
      stretch.consumerId,
    ])
    if (!locked[0].mine) return null
    const count = await removeRows(client, stretch, archive, reach)
    if (count === 0) return 0
    const { kind, consumerId, cutoff } = stretch
    if (kind.kind === 'markers') await client.query(moveHorizon, [consumerId, cutoff, count])
    await client.query(countIn, [consumerId, kind.kind, count, cutoff])
    reach('retention.removed')
    return count
  })
}

async function removeRows(
  client: SqlClient,
  stretch: PageRange,
  archive: RowArchive | null,
  reach: Reach,
): Promise<number> {
  const { kind, consumerId, cutoff, tenancy, fromBlock, toBlock } = stretch
  const values = [consumerId, `(${fromBlock},0)`, `(${toBlock},0)`, cutoff, ...tenancyValues(tenancy)]
  if (archive === null) return (await client.query(remove(stretch), values)).rowCount ?? 0
  const { rows } = await client.query(`${remove(stretch)} returning ${kind.archived.join(', ')}`, values)
  await archive.write(rows)
  if (rows.length > 0) reach('retention.archived')
  return rows.length
}

import { inTransaction } from '../in-transaction.ts'
import type { SqlPool } from '../pool.ts'
import { isoTime } from '../sql/iso-time.ts'
import type { KindTerm, RetentionKind, TenantTerms } from './kinds.ts'
import { walkedTable } from './marker-tables.ts'

/** Rows of a kind older than this are removed, by the database's clock alone. */
export interface Cutoff {
  readonly kind: RetentionKind
  readonly keepMs: number
  readonly tenancy?: TenantTerms
  readonly cutoff: string
  /** The table to scan; of a partitioned table, the partition of this consumer. */
  readonly table: string
  /** Its blocks at the time of reading: later blocks are younger. */
  readonly blocks: number
  /** The oldest unfinished message, held or queued in this database, limits the cutoff to its own time. */
  readonly heldBack: boolean
  /**
   * Additional time beyond the term, because the database's clock was set forward within it.
   */
  readonly longerMs: number
}

/**
 * Evidence of an unfinished message may still be needed, and with it the evidence of everything since.
 */
const oldestUnfinished = `
  select min(first_at) from onceward.held where consumer_id = $1 and state in ('stored', 'waiting', 'parked')`

/**
 * A message in a queue of this database can be redelivered until it is removed, however long that takes. Its
 * marker is younger than its publication, so no marker younger than the oldest message of a queue is removed.
 * This holds for every queue that the consumer has read. The first message by id is the oldest, give or take
 * concurrent publishers and a clock that was set back: a day covers both.
 */
const oldestQueued = `
  select min(first.published_at) - interval '1 day'
  from onceward.consumer c
    join onceward.reader r on r.consumer_name = c.name and r.kind = 'postgres'
    join onceward.queue q on q.name = r.source
    cross join lateral (
      select m.published_at from onceward.queue_message m where m.queue_id = q.id order by m.id limit 1) as first
  where c.id = $1`

/**
 * Rows written before a clock step may be younger than their timestamp by the sum of all later steps. A step
 * counts until rows written before it are as old as the term, measured by the corrected clock.
 */
const longer = `
  select coalesce(sum(moved), interval '0') from (
    select moved, at + coalesce(sum(moved) over (order by id desc rows between unbounded preceding and 1 preceding), interval '0') as stepped_at
    from onceward.clock_step) as step
  where stepped_at > clock_timestamp() - $2::double precision * interval '1 millisecond'`

const read = (table: string) => `
  with stepped as materialized (select (${longer}) as longer),
  age as materialized (
    select clock_timestamp() - $2::double precision * interval '1 millisecond' - longer as term, least((${oldestUnfinished}), (${oldestQueued})) as unfinished,
      longer from stepped)
  select ${isoTime('least(term, unfinished)')} as cutoff, unfinished is not null and unfinished < term as "heldBack",
    (extract(epoch from longer) * 1000)::float8 as "longerMs",
    (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs",
    (pg_relation_size('${table}') / current_setting('block_size')::bigint)::float8 as blocks,
    has_table_privilege('${table}', 'update') and has_table_privilege('${table}', 'delete') as permitted
  from age`

/**
 * Omits kinds that this role may not remove: acts of operators are removed by the owner's pass, and must not
 * fail the pass of a consumer. Runs in a transaction for its lock timeout: reading the size of a table waits
 * for a lock on it.
 */
export function readCutoffs(
  pool: SqlPool,
  consumerId: number,
  terms: readonly KindTerm[],
): Promise<{ readonly nowMs: number; readonly cutoffs: readonly Cutoff[] }> {
  return inTransaction(pool, async client => {
    const cutoffs: Cutoff[] = []
    let nowMs = 0
    for (const { kind, keepMs, tenancy } of terms) {
      const table = await walkedTable(client, kind, consumerId)
      const { rows } = await client.query(read(table), [consumerId, keepMs])
      nowMs = rows[0].nowMs
      if (!rows[0].permitted && kind.byDay !== true) continue
      cutoffs.push({
        kind,
        keepMs,
        ...(tenancy !== undefined && { tenancy }),
        cutoff: rows[0].cutoff,
        table,
        blocks: rows[0].blocks,
        heldBack: rows[0].heldBack,
        longerMs: rows[0].longerMs,
      })
    }
    return { nowMs, cutoffs }
  })
}

import { inTransaction } from '../in-transaction.ts'
import type { SqlPool } from '../pool.ts'
import { isoTime } from '../sql/iso-time.ts'
import type { KindTerm, RetentionKind } from './kinds.ts'
import { walkedTable } from './marker-tables.ts'

/** Up to when a kind of rows is forgotten, by the database's clock alone. */
export interface Cutoff {
  readonly kind: RetentionKind
  readonly keepMs: number
  readonly cutoff: string
  /** What is walked through: of a table in parts, the part that is this consumer's. */
  readonly table: string
  /** Blocks of it when it was looked at: what comes later is younger. */
  readonly blocks: number
  /** The oldest unfinished message holds it back to its own time. */
  readonly heldBack: boolean
  /**
   * By how much longer than its term it is kept, because the database's clock was set forward within that.
   */
  readonly longerMs: number
}

/**
 * Evidence of a message that is not finished may still be asked for, and with it that of everything since.
 */
const oldestUnfinished = `
  select min(first_at) from onceward.held where consumer_id = $1 and state in ('stored', 'waiting', 'parked')`

/**
 * Rows written before a step may be younger than they say by all steps since. A step counts until what was
 * written before it is as old as the term: by today's clock it was as much later as the steps after it have
 * moved.
 */
const longer = `
  select coalesce(sum(moved), interval '0') from (
    select moved, at + coalesce(sum(moved) over (order by id desc rows between unbounded preceding and 1 preceding), interval '0') as stepped_at
    from onceward.clock_step) as step
  where stepped_at > clock_timestamp() - $2::double precision * interval '1 millisecond'`

const read = (table: string) => `
  with stepped as materialized (select (${longer}) as longer),
  age as materialized (
    select clock_timestamp() - $2::double precision * interval '1 millisecond' - longer as term, (${oldestUnfinished}) as unfinished,
      longer from stepped)
  select ${isoTime('least(term, unfinished)')} as cutoff, unfinished is not null and unfinished < term as "heldBack",
    (extract(epoch from longer) * 1000)::float8 as "longerMs",
    (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs",
    (pg_relation_size('${table}') / current_setting('block_size')::bigint)::float8 as blocks,
    has_table_privilege('${table}', 'update') and has_table_privilege('${table}', 'delete') as permitted
  from age`

/**
 * Without what this role may not remove: what people did is for the owner's pass, and must not end that of a
 * consumer. In a transaction for its bounded wait: to ask for the size of a table is to wait for whoever has
 * locked it.
 */
export function readCutoffs(
  pool: SqlPool,
  consumerId: number,
  terms: readonly KindTerm[],
): Promise<{ readonly nowMs: number; readonly cutoffs: readonly Cutoff[] }> {
  return inTransaction(pool, async client => {
    const cutoffs: Cutoff[] = []
    let nowMs = 0
    for (const { kind, keepMs } of terms) {
      const table = await walkedTable(client, kind, consumerId)
      const { rows } = await client.query(read(table), [consumerId, keepMs])
      nowMs = rows[0].nowMs
      if (!rows[0].permitted) continue
      cutoffs.push({
        kind,
        keepMs,
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

import { inTransaction } from '../stores/postgres/in-transaction.ts'
import type { SqlPool } from '../stores/postgres/pool.ts'
import { isoTime } from '../stores/postgres/sql/iso-time.ts'
import type { Kind, KindTerm } from './kinds.ts'
import { walkedTable } from './marker-tables.ts'

/** Up to when a kind of rows is forgotten, by the database's clock alone. */
export interface Cutoff {
  readonly kind: Kind
  readonly keepMs: number
  readonly cutoff: string
  /** What is walked through: of a table in parts, the part that is this consumer's. */
  readonly table: string
  /** Blocks of it when it was looked at: what comes later is younger. */
  readonly blocks: number
  /** The oldest unfinished message holds it back to its own time. */
  readonly heldBack: boolean
}

/** Evidence of a message that is not finished may still be asked for, and with it that of everything since. */
const oldestUnfinished = `
  select min(first_at) from onceward.held where consumer_id = $1 and state in ('stored', 'waiting', 'parked')`

const read = (table: string) => `
  with age as materialized (
    select clock_timestamp() - $2::double precision * interval '1 millisecond' as term, (${oldestUnfinished}) as unfinished)
  select ${isoTime('least(term, unfinished)')} as cutoff, unfinished is not null and unfinished < term as "heldBack",
    (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs",
    (pg_relation_size('${table}') / current_setting('block_size')::bigint)::float8 as blocks,
    has_table_privilege('${table}', 'update') and has_table_privilege('${table}', 'delete') as permitted
  from age`

/**
 * Without what this role may not remove: what people did is for the owner's pass, and must not end that of a consumer. In a transaction for its bounded wait: to ask for the size of a table is to wait for whoever has
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
      })
    }
    return { nowMs, cutoffs }
  })
}

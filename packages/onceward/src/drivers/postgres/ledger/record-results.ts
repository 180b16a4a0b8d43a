import type { SqlPool } from '../pool.ts'
import { roleSettings } from '../role-settings.ts'

export interface EffectResult {
  readonly id: string
  readonly epoch: number
  /**
   * Set when it is unknown whether the lease was committed. If it was not, the next lease has the same epoch:
   * only a row last written by this transaction belongs to this dispatcher.
   */
  readonly transaction: string | null
  readonly state: 'completed' | 'retryable' | 'unknown' | 'failed' | 'reconciling'
  /** Calls that may have been made so far. */
  readonly attempts: number
  readonly delayMs: number | null
  readonly status: number | null
  readonly digest: Buffer | null
  readonly note: string | null
  readonly excerpt: string | null
}

/**
 * The epoch is the fence: a dispatcher that lost its lease updates no row. The statement does not check the
 * state, so a result whose answer was lost can be written again with the same outcome.
 */
const record = `
  update onceward.ledger
  set state = result.state::onceward.effect_state, attempts = result.attempts,
    due_at = coalesce(clock_timestamp() + result.delay_ms * interval '1 millisecond', 'infinity'),
    completed_at = case when result.state = 'completed' then coalesce(completed_at, clock_timestamp()) end,
    response_status = result.status, response_digest = result.digest, last_error = result.note,
    response_excerpt = result.excerpt
  from unnest($1::bigint[], $2::int[], $3::text[], $4::float8[], $5::int[], $6::bytea[], $7::text[], $8::int[], $9::text[], $10::xid[])
    as result (id, epoch, state, delay_ms, status, digest, note, attempts, excerpt, transaction)
  where ledger.id = any($1::bigint[]) and ledger.id = result.id and ledger.epoch = result.epoch
    and (result.transaction is null or ledger.xmin = result.transaction)
  returning ledger.id, ledger.epoch, ${roleSettings}`

/** Returns for each result whether this dispatcher still held the row. */
export async function recordResults(
  pool: SqlPool,
  results: readonly EffectResult[],
): Promise<readonly boolean[]> {
  const { rows } = await pool.query(record, [
    bare(results.map(result => result.id)),
    bare(results.map(result => result.epoch)),
    bare(results.map(result => result.state)),
    bare(results.map(result => result.delayMs)),
    bare(results.map(result => result.status)),
    results.map(result => result.digest),
    results.map(result => result.note),
    bare(results.map(result => result.attempts)),
    results.map(result => result.excerpt),
    bare(results.map(result => result.transaction)),
  ])
  const ours = new Set(rows.map(row => `${row.id}@${row.epoch}`))
  return results.map(({ id, epoch }) => ours.has(`${id}@${epoch}`))
}

/**
 * An array literal of numbers or plain words, which need no quotes. The client would check each value for
 * characters to escape.
 */
function bare(values: readonly (string | number | null)[]): string {
  return `{${values.map(value => value ?? 'null').join(',')}}`
}

import type { SqlPool } from '../../../drivers/postgres/pool.ts'
import { watchReplication } from '../../../drivers/postgres/replication.ts'
import { setRoleSettings } from '../../../drivers/postgres/role-settings.ts'
import { dueAheadMaxMs } from '../../../drivers/postgres/sql/clock-ahead.ts'
import { longestDelayMs } from '../decide-result.ts'
import type { ExternalCaller, Outbound } from '../targets/target.ts'

/** A ledger row this dispatcher holds under a lease; `epoch` fences whoever held it before. */
export interface ClaimedEffect extends Outbound {
  readonly id: string
  readonly epoch: number
  readonly createdAt: Date
  readonly target: string
  /** Attempts a person has forgiven: they no longer count against the target's. */
  readonly attemptsForgiven: number
  /** An earlier attempt may have taken effect: it timed out, or its dispatcher was never heard of again. */
  readonly doubtful: boolean
  /** The attempts were used up before this claim; none was added. */
  readonly exhausted: boolean
  /**
   * Since the first attempt that may have taken effect, by the database's clock. Negative when that clock was
   * set back since, so that nobody knows.
   */
  readonly doubtMs: number
  /** What the attempt before was answered. */
  readonly before: { readonly status: number | null; readonly digest: Buffer | null }
}

export interface FreeTarget {
  readonly target: ExternalCaller
  readonly slots: number
}

/**
 * A lease in one statement, by the database's clock alone. Rows another dispatcher is claiming are skipped,
 * so two never wait for each other. The clock is read in a subselect: compared directly, a volatile function
 * keeps the planner from ending the index scan at the first row that is not due. The ids are given as an
 * array as well: joined alone, the planner expects a tenth of all rows to be due and reads the whole table
 * (about 20 ms instead of 2.5 for 100 of 20,000 rows).
 *
 * What is due later than any lease or delay reaches was written by a clock that was ahead, and is due too: a
 * range of the index of its own, empty but for such rows. A dispatcher that lives may still be calling for
 * one that was in flight, so its doubt is negative: no call, people are asked.
 */
const claim = `
  with free (target, slots, attempts_max, lease_ms, ahead_ms) as (
    select * from unnest($2::text[], $3::int[], $4::int[], $5::float8[], $6::float8[])
  ), due as materialized (
    select ledger.id, ledger.state in ('in flight', 'unknown') as doubtful, free.lease_ms,
      ledger.attempts - ledger.attempts_forgiven >= free.attempts_max as exhausted,
      ledger.state = 'in flight' and ledger.last_attempt_at > clock_timestamp() as begun_ahead
    from free cross join lateral (
      select ledger.* from (values ('-infinity'::timestamptz, (select clock_timestamp())),
        ((select clock_timestamp()) + free.ahead_ms * interval '1 millisecond', 'infinity')) as span (since, before)
      cross join lateral (
        select id, state, attempts, attempts_forgiven, last_attempt_at from onceward.ledger
        where consumer_name = $1 and target = free.target
          and state in ('pending', 'in flight', 'retryable', 'unknown')
          and due_at >= span.since and due_at < span.before
        order by due_at limit free.slots for update skip locked
      ) as ledger limit free.slots
    ) as ledger
  )
  update onceward.ledger
  set state = 'in flight', epoch = epoch + 1, attempts = attempts + case when exhausted then 0 else 1 end,
    due_at = clock_timestamp() + lease_ms * interval '1 millisecond', last_attempt_at = clock_timestamp(),
    doubt_since = case when doubtful then coalesce(doubt_since, created_at) else clock_timestamp() end
  from due where ledger.id = any(array(select id from due)) and ledger.id = due.id
  returning ledger.id, epoch, target, effect_key, attempts, attempts_forgiven, exhausted, doubtful,
    case when begun_ahead then -1 else extract(epoch from clock_timestamp() - doubt_since)::float8 * 1000 end as doubt_ms,
    extract(epoch from last_attempt_at)::float8 * 1000 as claimed_at_ms, response_status, response_digest, created_at, original_consumer_name, request_digest, content_type, body,
    pg_current_xact_id()::xid::text as claimed_by`

/** Ends a claim whose process is frozen before it commits: others skip the rows it locks. */
const begin = `begin; set local lock_timeout = 3000; set local idle_in_transaction_session_timeout = 5000; ${setRoleSettings}`

/**
 * The rows may or may not be claimed: the answer to COMMIT was lost, or the standby may not have it. No call
 * was made for them.
 */
export class ClaimUnconfirmed extends Error {
  readonly effects: readonly ClaimedEffect[]
  /** The transaction that claimed them, if it did. */
  readonly transaction: string

  constructor(effects: readonly ClaimedEffect[], transaction: string, cause: unknown) {
    super('the commit of a claim was not confirmed', { cause })
    this.effects = effects
    this.transaction = transaction
  }
}

/**
 * In a transaction, so that a claim is never made without its claimer knowing of which rows: before COMMIT is
 * sent a lost answer undoes it, and after that the rows are known and can be given back. A claim that a
 * failover could undo counts as lost too: the next dispatcher would find the row unclaimed and call once
 * more.
 */
export async function claimEffects(
  pool: SqlPool,
  consumerName: string,
  free: readonly FreeTarget[],
): Promise<readonly ClaimedEffect[]> {
  const client = await pool.connect()
  const assertReplicated = watchReplication(client)
  let usable = false
  try {
    const [, { rows }] = await Promise.all([
      client.query(begin),
      client.query(claim, [
        consumerName,
        free.map(({ target }) => target.name),
        free.map(({ slots }) => slots),
        free.map(({ target }) => target.attemptsMax),
        free.map(({ target }) => target.leaseMs),
        free.map(({ target }) => dueAheadMaxMs(target.leaseMs, longestDelayMs(target))),
      ]),
    ])
    const effects = rows.map(toEffect)
    try {
      await client.query('commit')
      assertReplicated()
    } catch (error) {
      throw effects.length === 0 ? error : new ClaimUnconfirmed(effects, rows[0].claimed_by, error)
    }
    usable = true
    return effects
  } finally {
    client.release(!usable)
  }
}

// biome-ignore lint/suspicious/noExplicitAny: shaped by the statement above
function toEffect(row: any): ClaimedEffect {
  return {
    id: row.id,
    epoch: row.epoch,
    target: row.target,
    key: row.effect_key,
    attempts: row.attempts,
    attemptsForgiven: row.attempts_forgiven,
    doubtful: row.doubtful,
    exhausted: row.exhausted,
    doubtMs: row.doubt_ms,
    before: { status: row.response_status, digest: row.response_digest },
    createdAt: row.created_at,
    askedAs: row.original_consumer_name,
    claimedAtMs: row.claimed_at_ms,
    requestDigest: row.request_digest,
    contentType: row.content_type,
    body: row.body,
  }
}

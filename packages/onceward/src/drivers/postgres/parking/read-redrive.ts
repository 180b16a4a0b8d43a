import type { SqlPool } from '../pool.ts'

/** A redrive with its counts. */
export interface RedriveReport {
  readonly requestId: string
  readonly consumer: string
  readonly state: 'moving' | 'stopped' | 'moved'
  readonly by: string
  readonly at: Date
  readonly because: string
  readonly perSecond: number | null
  /** Digest of the selection, in hexadecimal. */
  readonly digest: string
  /** Why it is stopped, as the person or the ramp that stopped it wrote; null while it is not stopped. */
  readonly stoppedBecause: string | null
  /** Number of messages by outcome. */
  readonly outcomes: Readonly<Record<string, number>>
  readonly rows: readonly RedrivenRow[]
}

export interface RedrivenRow {
  readonly id: string
  readonly messageId: string | null
  /** Not selected: it waited behind a selected message. */
  readonly behind: boolean
  /**
   * `waits`, `left`, `at work`, `parked again`, or the outcome of the message: `applied`, `ignored`, `stale`,
   * `skipped`…
   */
  readonly outcome: string
  readonly why: string | null
}

/**
 * The marker and the held row have the outcome of a message. Only a later act on the same row is recorded
 * here.
 */
const results = (redrive: string, consumer: string) => `
  select r.held_id::text as id, r.message_id as "messageId", r.behind, coalesce(r.why, h.code) as why,
    case when r.state = 'selected' then 'waits' when r.state = 'left' then 'left' when r.outcome is not null then r.outcome
      when h.id is null then coalesce(m.status::text, 'done') when h.state in ('stored', 'waiting') then 'at work'
      else 'parked again' end as outcome
  from onceward.redrive_row r
  left join onceward.held h on h.id = r.held_id
  left join onceward.inbox m on m.consumer_id = ${consumer} and m.message_id = r.message_id
  where r.redrive_id = ${redrive}`

/** Of the last stop of redrive `r`. The audit has it, also after the process that stopped it has ended. */
export const stoppedBecause = `
  case when r.state = 'stopped' then (
    select a.reason from onceward.audit a
    where a.action = 'parked stop' and a.outcome = 'done' and a.subject = r.request_id
    order by a.seq desc limit 1) end`

/** The moment of the last move, as the database writes it; null before the first. */
export async function readLastMove(pool: SqlPool, requestId: string): Promise<string | null> {
  const { rows } = await pool.query(
    `select max(w.moved_at)::text as at from onceward.redrive r join onceward.redrive_row w on w.redrive_id = r.id
     where r.request_id = $1`,
    [requestId],
  )
  return rows[0].at
}

/** Number of messages by outcome, of those that were moved after this moment. */
export async function readOutcomesSince(
  pool: SqlPool,
  requestId: string,
  since: string | null,
): Promise<Readonly<Record<string, number>>> {
  const { rows } = await pool.query(
    `select outcome, count(*)::integer from (
       select f.* from onceward.redrive d cross join lateral (${results('d.id', 'd.consumer_id')}
         and r.moved_at is not null and ($2::timestamptz is null or r.moved_at > $2::timestamptz)) f
       where d.request_id = $1) r group by outcome`,
    [requestId, since],
  )
  return Object.fromEntries(rows.map(row => [row.outcome, row.count]))
}

/** Null when there is no such redrive. */
export async function readRedrive(
  pool: SqlPool,
  requestId: string,
  countMax: number,
): Promise<RedriveReport | null> {
  const found = await pool.query(
    `select r.id, r.consumer_id, request_id as "requestId", name as consumer, state, actor as by, at, reason as because,
       rate_max as "perSecond", encode(digest, 'hex') as digest, ${stoppedBecause} as "stoppedBecause"
     from onceward.redrive r join onceward.consumer c on c.id = r.consumer_id where request_id = $1`,
    [requestId],
  )
  if (found.rows.length === 0) return null
  const { id, consumer_id, ...facts } = found.rows[0]
  const { rows } = await pool.query(`${results('$1', '$2')} order by r.held_id limit $3`, [
    id,
    consumer_id,
    countMax,
  ])
  const counts = await pool.query(
    `select outcome, count(*)::integer from (${results('$1', '$2')}) r group by outcome order by outcome`,
    [id, consumer_id],
  )
  const outcomes = Object.fromEntries(counts.rows.map(row => [row.outcome, row.count]))
  return { ...facts, outcomes, rows }
}

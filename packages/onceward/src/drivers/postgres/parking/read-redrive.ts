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
const results = `
  select r.held_id::text as id, r.message_id as "messageId", r.behind, coalesce(r.why, h.code) as why,
    case when r.state = 'selected' then 'waits' when r.state = 'left' then 'left' when r.outcome is not null then r.outcome
      when h.id is null then coalesce(m.status::text, 'done') when h.state in ('stored', 'waiting') then 'at work'
      else 'parked again' end as outcome
  from onceward.redrive_row r
  left join onceward.held h on h.id = r.held_id
  left join onceward.inbox m on m.consumer_id = $2 and m.message_id = r.message_id
  where r.redrive_id = $1`

/** Null when there is no such redrive. */
export async function readRedrive(
  pool: SqlPool,
  requestId: string,
  countMax: number,
): Promise<RedriveReport | null> {
  const found = await pool.query(
    `select r.id, r.consumer_id, request_id as "requestId", name as consumer, state, actor as by, at, reason as because,
       rate_max as "perSecond", encode(digest, 'hex') as digest
     from onceward.redrive r join onceward.consumer c on c.id = r.consumer_id where request_id = $1`,
    [requestId],
  )
  if (found.rows.length === 0) return null
  const { id, consumer_id, ...facts } = found.rows[0]
  const { rows } = await pool.query(`${results} order by r.held_id limit $3`, [id, consumer_id, countMax])
  const counts = await pool.query(
    `select outcome, count(*)::integer from (${results}) r group by outcome order by outcome`,
    [id, consumer_id],
  )
  const outcomes = Object.fromEntries(counts.rows.map(row => [row.outcome, row.count]))
  return { ...facts, outcomes, rows }
}

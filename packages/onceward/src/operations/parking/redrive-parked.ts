import { inert, type Reach } from '../../crash-points.ts'
import { assertUsable } from '../../drivers/postgres/migrate.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import { act, refused, type Said } from './act.ts'

export interface RedriveOrder extends Said {
  /** The same order given again continues the same redrive and never starts another. */
  readonly requestId: string
  readonly ids: readonly string[]
  /** The digest of the preview, in hexadecimal. */
  readonly digest: string
  /** Messages per second at most, whoever runs it; null for as fast as it goes. */
  readonly perSecond: number | null
}

export interface RedriveStage {
  readonly state: 'moving' | 'stopped' | 'moved'
  readonly moved: number
  /** Went on because what they waited behind was moved. */
  readonly behind: number
  readonly left: number
  readonly waitMs: number
}

export interface RedriveEnvironment {
  /** Resolves after so many milliseconds. */
  pause(ms: number): Promise<void>
  readonly reach?: Reach | undefined
  /** Messages per transaction at most. Default 2,000. */
  readonly stageMax?: number
  onStage?(stage: RedriveStage): void
}

/** Writes down what is to be moved, exactly. Nothing moves yet. */
export async function startRedrive(
  pool: SqlPool,
  { requestId, consumer, ids, digest, perSecond, because }: RedriveOrder,
  reach: Reach = inert,
): Promise<{ readonly known: boolean }> {
  if (!/^[\w.:-]{1,100}$/.test(requestId))
    throw refused('A request id has 1 to 100 letters, digits and any of _ . : -')
  if (!/^[0-9a-f]{64}$/.test(digest)) throw refused('A digest has 64 hexadecimal digits.')
  const call = `onceward.redrive_start($1, $2, $3::bigint[], decode($4, 'hex'), $5, $6)`
  const started = await act<{ known: boolean }>(pool, call, [
    requestId,
    consumer,
    ids,
    digest,
    perSecond,
    because,
  ])
  reach('parking.selected')
  return started
}

/**
 * Hands the selection over to the workers, stage by stage, until nothing is left or somebody stops it. Killed
 * anywhere it goes on when called again; called twice at once the two take turns. What moves is judged in the
 * transaction that moves it.
 */
export async function runRedrive(
  pool: SqlPool,
  requestId: string,
  env: RedriveEnvironment,
): Promise<RedriveStage> {
  const reach = env.reach ?? inert
  const total = { moved: 0, behind: 0, left: 0 }
  for (;;) {
    const call = 'onceward.redrive_stage($1, $2)'
    const stage = await act<RedriveStage>(pool, call, [requestId, env.stageMax ?? 2_000], () =>
      reach('parking.moving'),
    )
    reach('parking.moved')
    total.moved += stage.moved
    total.behind += stage.behind
    total.left += stage.left
    const soFar = { ...stage, ...total }
    env.onStage?.(soFar)
    if (stage.state !== 'moving') return soFar
    if (stage.waitMs > 0) await env.pause(stage.waitMs)
  }
}

export async function stopRedrive(pool: SqlPool, requestId: string, because: string): Promise<void> {
  await act(pool, 'onceward.redrive_stop($1, $2)', [requestId, because])
}

export interface RedriveReport {
  readonly requestId: string
  readonly consumer: string
  readonly state: 'moving' | 'stopped' | 'moved'
  readonly by: string
  readonly at: Date
  readonly because: string
  readonly perSecond: number | null
  /** Of its selection, in hexadecimal. */
  readonly digest: string
  /** How many came to what. */
  readonly outcomes: Readonly<Record<string, number>>
  readonly rows: readonly ReplayedRow[]
}

export interface ReplayedRow {
  readonly id: string
  readonly messageId: string | null
  /** Not selected: it waited behind one that was. */
  readonly behind: boolean
  /**
   * `waits`, `left`, `at work`, `parked again`, or what the message became: `applied`, `ignored`, `stale`,
   * `skipped`…
   */
  readonly outcome: string
  readonly why: string | null
}

/**
 * The marker and the held row say what became of a message; only a later act on the same row needs writing
 * down.
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

export async function showRedrive(
  pool: SqlPool,
  requestId: string,
  countMax: number,
): Promise<RedriveReport> {
  await assertUsable(pool)
  const found = await pool.query(
    `select r.id, r.consumer_id, request_id as "requestId", name as consumer, state, actor as by, at, reason as because,
       rate_max as "perSecond", encode(digest, 'hex') as digest
     from onceward.redrive r join onceward.consumer c on c.id = r.consumer_id where request_id = $1`,
    [requestId],
  )
  if (found.rows.length === 0) throw refused(`There is no redrive ${requestId}.`)
  const { id, consumer_id, ...facts } = found.rows[0]
  const { rows } = await pool.query(`${results} order by r.held_id limit $3`, [id, consumer_id, countMax])
  const counts = await pool.query(
    `select outcome, count(*)::integer from (${results}) r group by outcome order by outcome`,
    [id, consumer_id],
  )
  const outcomes = Object.fromEntries(counts.rows.map(row => [row.outcome, row.count]))
  return { ...facts, outcomes, rows }
}

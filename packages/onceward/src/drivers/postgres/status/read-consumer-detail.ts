import { silentAfterMs } from '../../../ports/suspects.ts'
import type { SqlClient } from '../pool.ts'
import { isHeard } from '../sql/clock-ahead.ts'

/** A process of a consumer, running or ended. */
export interface RunRow {
  readonly id: number
  readonly generation: number
  readonly instance: string
  readonly mode: string
  readonly campaign: string | null
  readonly handlerVersion: string
  readonly startedAt: Date
  readonly heartbeatAt: Date
  /** It has a recent heartbeat and has not ended. */
  readonly alive: boolean
  readonly pausedBecause: string | null
  readonly haltedReason: string | null
  readonly endedAt: Date | null
}

const alive = `r.ended_at is null and ${isHeard('r.heartbeat_at', `${silentAfterMs} milliseconds`)}`

/** Newest first. */
export async function readRuns(
  client: SqlClient,
  consumer: string,
  countMax: number,
): Promise<readonly RunRow[]> {
  const { rows } = await client.query(
    `select r.id, c.generation, r.instance, r.mode, r.campaign_id::text as campaign,
       r.handler_version as "handlerVersion", r.started_at as "startedAt", r.heartbeat_at as "heartbeatAt",
       ${alive} as alive, r.paused_reason as "pausedBecause", r.halted_reason as "haltedReason",
       r.ended_at as "endedAt"
     from onceward.run r join onceward.consumer c on c.id = r.consumer_id where c.name = $1
     order by r.id desc limit $2`,
    [consumer, countMax],
  )
  return rows
}

/** A consumer whose last run halted, while none of its runs is alive. */
export interface Halt {
  readonly consumer: string
  readonly reason: string
  readonly at: Date
}

export async function readHalts(client: SqlClient): Promise<readonly Halt[]> {
  const { rows } = await client.query(`
    select distinct on (c.name) c.name as consumer, r.halted_reason as reason, r.ended_at as at
    from onceward.run r join onceward.consumer c on c.id = r.consumer_id
    where r.halted_reason is not null and r.cleared_at is null and r.ended_at is not null and not exists (
      select from onceward.run r join onceward.consumer o on o.id = r.consumer_id
      where o.name = c.name and r.campaign_id is null and ${alive})
    order by c.name, r.id desc`)
  return rows
}

/** A key that waits for an operator, or whose messages are being processed. */
export interface BlockedKeyRow {
  readonly key: string
  readonly generation: number
  readonly since: Date
  readonly state: 'parked' | 'released'
  /** Messages behind the head. */
  readonly waiting: number
  /** The message that the others wait for; null if a worker has it. */
  readonly head: string | null
  readonly headCode: string | null
}

/** Blocked longest first. */
export async function readBlockedKeys(
  client: SqlClient,
  consumer: string,
  countMax: number,
): Promise<readonly BlockedKeyRow[]> {
  const { rows } = await client.query(
    `select b.key, c.generation, b.since, b.state, b.waiting, head.id::text as head, head.code as "headCode"
     from onceward.blocked_key b join onceward.consumer c on c.id = b.consumer_id
     left join lateral (
       select h.id, h.code from (
         (select h.id, h.code from onceward.held h where h.consumer_id = b.consumer_id and h.order_key = b.key
            and h.order_key is not null and h.state in ('stored', 'parked') order by h.id limit 1)
         union all
         (select h.id, h.code from onceward.held h where h.consumer_id = b.consumer_id and h.order_key = b.key
            and h.order_key is not null and h.state = 'quarantined' order by h.id limit 1)) h
       order by h.id limit 1) head on true
     where c.name = $1 order by b.since, b.key limit $2`,
    [consumer, countMax],
  )
  return rows
}

/** The age of the message that was set aside first, by consumer. */
export async function readOldestSetAside(
  client: SqlClient,
): Promise<readonly { readonly consumer: string; readonly seconds: number }[]> {
  const { rows } = await client.query(`
    select c.name as consumer, max(extract(epoch from clock_timestamp() - h.first_at))::float8 as seconds
    from onceward.consumer c
    cross join unnest(enum_range('parked'::onceward.held_state, 'quarantined'::onceward.held_state)) as s (state)
    cross join lateral (
      select h.first_at from onceward.held h
      where h.consumer_id = c.id and h.state = s.state and h.state in ('parked', 'dead', 'quarantined')
      order by h.id + 0 limit 1) h
    group by c.name`)
  return rows
}

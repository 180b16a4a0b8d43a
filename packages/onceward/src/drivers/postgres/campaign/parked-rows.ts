import type { PutOffWork, WorkLease, WorkRow } from '../../../ports/held-work.ts'
import type { SqlClient } from '../pool.ts'
import { effectsOf } from '../sql/campaign-effects.ts'
import { isoTime } from '../sql/iso-time.ts'
import { heldRow } from '../sql/lease-work.ts'

/** Replaces the rows of a campaign by those that its selection matches now. Returns their number. */
export async function selectCampaignRows(
  client: SqlClient,
  campaignId: string,
  countMax: number,
): Promise<number> {
  const { rows } = await client.query('select onceward.select_campaign_rows($1, $2) as count', [
    campaignId,
    countMax,
  ])
  return rows[0].count
}

export interface CampaignRowsSummary {
  readonly rows: number
  readonly digest: string
  readonly oldestMs: number
  /** Parked under the same keys and not selected; counted up to 10,000. */
  readonly behind: number
}

const describe = `
  select count(*)::integer as rows, onceward.campaign_rows_digest($1) as digest,
    extract(epoch from min(h.first_at))::float8 * 1000 as "oldestMs",
    (select count(*)::integer from (
      select from onceward.held w where (w.consumer_id, w.order_key) in (
        select x.consumer_id, x.order_key from onceward.campaign_row y join onceward.held x on x.id = y.held_id
        where y.campaign_id = $1 and x.order_key is not null)
      and w.order_key is not null and w.state in ('stored', 'parked') and w.state = 'parked'
      and not exists (select from onceward.campaign_row y where y.campaign_id = $1 and y.held_id = w.id) limit 10000) behind) as behind
  from onceward.campaign_row r join onceward.held h on h.id = r.held_id where r.campaign_id = $1`

export async function describeCampaignRows(
  client: SqlClient,
  campaignId: string,
): Promise<CampaignRowsSummary> {
  return (await client.query(describe, [campaignId])).rows[0]
}

/**
 * The position of a campaign on parked rows is their count. Taking the position over ends the leases of the
 * process before.
 */
const takePlace = `
  with place as (
    insert into onceward.campaign_partition as p (campaign_id, partition, epoch, run_id, incarnation, next)
    values ($1, 'parked', 1, 0, $2, '0')
    on conflict (campaign_id, partition) do update set epoch = p.epoch + 1, at = clock_timestamp() returning epoch),
  ended as (
    update onceward.held h set epoch = h.epoch + 1, lease_until = null from onceward.campaign_row r
    where r.campaign_id = $1 and r.state = 'open' and h.id = r.held_id and h.state in ('parked', 'dead', 'quarantined')
      and h.lease_until is not null)
  select epoch from place`

/** The new epoch. */
export async function takeParkedPlace(
  client: SqlClient,
  campaignId: string,
  digest: string,
): Promise<number> {
  return (await client.query(takePlace, [campaignId, digest])).rows[0].epoch
}

const lease = `
  select id::text as row, epoch, message_id, digest, nullif(headers::text, '{}') as headers, nullif(properties::text, '{}') as properties,
    origin, position, broker_key, delivery_count, ${isoTime('first_at')} as first_at, attempts, keyless, mode, campaign_id::text as campaign_id,
    ${effectsOf('campaign_id')} as effects, body
  from onceward.lease_parked($1, $2, $3, $4, $5) order by id`

export interface ParkedLease {
  readonly campaignId: string
  readonly consumerId: number
  readonly epoch: number
  readonly countMax: number
  readonly leaseMs: number
}

export async function leaseParkedRows(
  client: SqlClient,
  { campaignId, consumerId, epoch, countMax, leaseMs }: ParkedLease,
): Promise<readonly WorkRow[]> {
  const { rows } = await client.query(lease, [campaignId, consumerId, epoch, countMax, leaseMs])
  return rows.map(heldRow)
}

const anyOpen = `select exists (select from onceward.campaign_row where campaign_id = $1 and state = 'open') as open`

export async function hasOpenRows(client: SqlClient, campaignId: string): Promise<boolean> {
  return (await client.query(anyOpen, [campaignId])).rows[0].open
}

const beginParked = 'select onceward.begin_parked($1, $2, $3::bigint[], $4::integer[])::text[] as lost'

/** Returns the rows that are no longer this campaign's. */
export async function beginParkedRows(
  client: SqlClient,
  campaignId: string,
  consumerId: number,
  work: readonly WorkLease[],
): Promise<ReadonlySet<string>> {
  const { rows } = await client.query(beginParked, [
    campaignId,
    consumerId,
    work.map(one => one.row),
    work.map(one => one.epoch),
  ])
  return new Set(rows[0].lost as readonly string[])
}

/** A row to be retried stays parked and stays the campaign's. */
const putOff = `
  update onceward.held h set lease_until = clock_timestamp() + mine.delay_ms * interval '1 millisecond', last_at = clock_timestamp()
  from unnest($1::bigint[], $2::integer[], $3::float8[]) as mine (id, epoch, delay_ms)
  where h.id = mine.id and h.epoch = mine.epoch`

export async function putOffParkedRows(client: SqlClient, again: readonly PutOffWork[]): Promise<void> {
  await client.query(putOff, [
    again.map(one => one.row),
    again.map(one => one.epoch),
    again.map(one => one.delayMs),
  ])
}

const done = `
  update onceward.campaign_row set state = 'done' where campaign_id = $1 and held_id = any ($2::bigint[]) and state = 'open'`

/** Returns how many of them were open. */
export async function closeCampaignRows(
  client: SqlClient,
  campaignId: string,
  finished: readonly WorkLease[],
): Promise<number> {
  const { rowCount } = await client.query(done, [campaignId, finished.map(one => one.row)])
  return rowCount!
}

const moveOn = `
  update onceward.campaign_partition set next = (next::bigint + $3)::text, run_id = $4, at = clock_timestamp()
  where campaign_id = $1 and partition = 'parked' and epoch = $2`

/** False when another process has taken the position over. */
export async function moveParkedPlace(
  client: SqlClient,
  campaignId: string,
  { epoch, count, runId }: { readonly epoch: number; readonly count: number; readonly runId: number },
): Promise<boolean> {
  const { rowCount } = await client.query(moveOn, [campaignId, epoch, count, runId])
  return rowCount !== 0
}

const free = 'select onceward.unblock_after_campaign($1, $2, $3::text[])'

export async function unblockAfterCampaign(
  client: SqlClient,
  campaignId: string,
  consumerId: number,
  keys: readonly string[],
): Promise<void> {
  await client.query(free, [campaignId, consumerId, keys])
}

import type { Position, Progress } from '../../../ports/source.ts'
import type { SqlClient } from '../pool.ts'

/** Marks a run as one of the campaign. */
export async function joinCampaign(client: SqlClient, runId: number, campaignId: string): Promise<void> {
  await client.query('update onceward.run set campaign_id = $2 where id = $1', [runId, campaignId])
}

export interface CampaignPartitionRow {
  readonly partition: string
  readonly epoch: number
  readonly incarnation: string
  readonly next: string | null
}

/** Raises the epoch of each partition. */
export async function takeCampaignPartitions(
  client: SqlClient,
  campaignId: string,
  runId: number,
  partitions: readonly string[],
): Promise<readonly CampaignPartitionRow[]> {
  const { rows } = await client.query(
    `insert into onceward.campaign_partition as p (campaign_id, partition, epoch, run_id)
     select $1, partition, 1, $2 from unnest($3::text[]) as t (partition) order by partition collate "C"
     on conflict (campaign_id, partition)
       do update set epoch = p.epoch + 1, run_id = excluded.run_id, at = clock_timestamp()
     returning partition, epoch, incarnation, next`,
    [campaignId, runId, partitions],
  )
  return rows
}

export interface BegunPartition {
  readonly campaignId: string
  readonly partition: string
  readonly epoch: number
  readonly position: Position
  readonly runId: number
  /** An existing position stays. */
  readonly staysInPlace: boolean
}

/** False where the epoch is another's. */
export async function beginCampaignPartition(
  client: SqlClient,
  { campaignId, partition, epoch, position, runId, staysInPlace }: BegunPartition,
): Promise<boolean> {
  const { rowCount } = await client.query(
    `update onceward.campaign_partition p set incarnation = $4, next = place.next, run_id = $6, at = clock_timestamp(),
       ahead = ahead - int8multirange(int8range(null, place.next::bigint))
     from (select case when $7 then coalesce(o.next, $5) else $5 end as next from onceward.campaign_partition o
       where o.campaign_id = $1 and o.partition = $2) place
     where p.campaign_id = $1 and p.partition = $2 and p.epoch = $3`,
    [campaignId, partition, epoch, position.incarnation, position.next, runId, staysInPlace],
  )
  return rowCount !== 0
}

/**
 * Locks partitions in one order. `ahead` gains the places that the batch decided and loses those that the
 * position has passed. It has as many ranges as there are undecided records between them, which is bounded.
 * Positions never move back: after a lost answer to a commit, a part of the batch may run again and end
 * before the position.
 */
const moveOn = `
  with mine as materialized (
    select m.partition, m.epoch, m.incarnation, m.ahead, p.next as stood, p.ahead as counted, greatest(m.next::bigint, p.next::bigint) as next
    from onceward.campaign_partition p
    join unnest($3::text[], $4::integer[], $5::text[], $6::text[], $7::text[]) as m (partition, epoch, incarnation, next, ahead) using (partition)
    where p.campaign_id = $1 and p.epoch = m.epoch order by p.partition for no key update of p)
  update onceward.campaign_partition p
  set next = mine.next::text, incarnation = mine.incarnation, run_id = $2, at = clock_timestamp(),
    ahead = p.ahead + mine.ahead::int8multirange - int8multirange(int8range(null, mine.next))
  from mine where p.campaign_id = $1 and p.partition = mine.partition and p.epoch = mine.epoch
  returning p.partition, mine.stood, mine.counted::text as counted`

export interface MovedPartition {
  readonly partition: string
  /** The position before. */
  readonly stood: string
  /** Places beyond it that were already decided. */
  readonly counted: readonly PlaceRange[]
}

export type PlaceRange = readonly [from: string, to: string]

/**
 * `ahead`: by partition, the places that this batch decides and its position does not cover. Returns the
 * partitions that moved.
 */
export async function moveCampaignPartitions(
  client: SqlClient,
  { campaignId, runId }: { readonly campaignId: string; readonly runId: number },
  progress: readonly Progress[],
  ahead: readonly (readonly PlaceRange[])[],
): Promise<readonly MovedPartition[]> {
  const { rows } = await client.query(moveOn, [
    campaignId,
    runId,
    progress.map(one => one.partition),
    progress.map(one => one.epoch),
    progress.map(one => one.incarnation),
    progress.map(one => one.next),
    ahead.map(ranges => `{${ranges.map(([from, to]) => `[${from},${to})`)}}`),
  ])
  return rows.map(row => ({ ...row, counted: stretches(row.counted) }))
}

function stretches(text: string): readonly PlaceRange[] {
  return Array.from(text.matchAll(/\[(\d+),(\d+)\)/g), ([, from, to]) => [from!, to!])
}

/** By partition, the places beyond the position that are decided. */
export async function readDecidedPlaces(
  client: SqlClient,
  campaignId: string,
): Promise<ReadonlyMap<string, readonly PlaceRange[]>> {
  const { rows } = await client.query(
    'select partition, ahead::text as ahead from onceward.campaign_partition where campaign_id = $1',
    [campaignId],
  )
  return new Map(rows.map(row => [row.partition as string, stretches(row.ahead as string)]))
}

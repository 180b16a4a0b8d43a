import { workerSuffix } from '../../../ports/held-work.ts'
import type { SqlClient } from '../pool.ts'
import { effectsOf } from '../sql/campaign-effects.ts'
import { isHeard } from '../sql/clock-ahead.ts'

/** Rows are counted this far. */
const countedMax = 100_000

/** A worker of consumer c has a recent heartbeat. Where work is due, one starts within a second. */
const hasWorker = `exists (select from onceward.run r where r.consumer_id = c.id and r.ended_at is null and r.campaign_id is null
  and r.mode = 'live' and right(r.instance, ${workerSuffix.length}) = '${workerSuffix}' and ${isHeard('r.heartbeat_at', '30 seconds')})`

/** Work that a rebuild has set aside is reported with its campaign. */
const isRebuild = `exists (select from onceward.campaign r where r.consumer_name = c.name and r.mode = 'rebuild' and r.generation = c.generation)`

/**
 * Acknowledged messages that no worker processes: stored, deferred or waiting under a name and generation
 * without a live worker, or held by a campaign whose approval has expired. One row for each missing worker or
 * approval; `campaign` is null for a worker.
 */
export const unservedWork = `
  select c.name as consumer, c.generation, null::text as campaign, due.waiting
  from onceward.consumer c cross join lateral (
    select count(*)::integer as waiting from (
      select from onceward.held h where h.consumer_id = c.id and h.due_at is not null limit ${countedMax}) h) due
  where due.waiting > 0 and not ${hasWorker} and not ${isRebuild}
  union all
  select c.name, c.generation, h.campaign_id::text, count(*)::integer
  from onceward.held h join onceward.consumer c on c.id = h.consumer_id
  where h.campaign_id is not null and h.due_at is not null and ${effectsOf('h.campaign_id')} = 'unapproved'
  group by c.name, c.generation, h.campaign_id`

export interface UnservedWork {
  readonly consumer: string
  readonly generation: number
  /** The campaign whose approval has expired; null where no worker runs. */
  readonly campaign: string | null
  readonly waiting: number
}

const leftBehind = `select * from (${unservedWork}) u where consumer = $1 and generation <> $2 and campaign is null order by generation`

/** The work of other generations of this consumer that has no worker. */
export async function readLeftBehind(
  client: SqlClient,
  name: string,
  generation: number,
): Promise<readonly UnservedWork[]> {
  return (await client.query(leftBehind, [name, generation])).rows
}

const orZero = `
  with unserved as materialized (${unservedWork})
  select * from unserved
  union all
  select c.name, c.generation, null, 0 from onceward.consumer c where not exists (
    select from unserved u where u.consumer = c.name and u.generation = c.generation and u.campaign is null)
  order by waiting desc, consumer, generation, campaign limit $1`

/** The same for every consumer of the database; those whose work is served have 0. */
export async function readUnservedWork(
  client: Pick<SqlClient, 'query'>,
  rowsMax: number,
): Promise<readonly UnservedWork[]> {
  return (await client.query(orZero, [rowsMax])).rows
}

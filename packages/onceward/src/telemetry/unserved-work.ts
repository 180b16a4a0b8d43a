import { isHeard } from '../drivers/postgres/sql/clock-ahead.ts'
import { effectsOf } from '../drivers/postgres/sql/lease-work.ts'
import { workerSuffix } from '../ports/held-work.ts'

/** Rows are counted this far. */
const countedMax = 100_000

/** A worker of consumer c gives signs of life. One starts within a second where there is due work. */
const hasWorker = `exists (select from onceward.run r where r.consumer_id = c.id and r.ended_at is null and r.campaign_id is null
  and r.mode = 'live' and right(r.instance, ${workerSuffix.length}) = '${workerSuffix}' and ${isHeard('r.heartbeat_at', '30 seconds')})`

/** What a rebuild has set aside is told with its campaign. */
const isRebuild = `exists (select from onceward.campaign r where r.consumer_name = c.name and r.mode = 'rebuild' and r.generation = c.generation)`

/**
 * Acknowledged messages that nobody works on: stored, deferred or waiting under a name and generation without
 * a live worker, or held by a campaign whose approval has expired. One row for each thing that is missing;
 * `campaign` is null where a worker is.
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

export function lackText({ consumer, generation, campaign }: UnservedWork): string {
  return campaign === null
    ? `a worker of ${consumer}, generation ${generation}`
    : `the approval of campaign ${campaign}`
}

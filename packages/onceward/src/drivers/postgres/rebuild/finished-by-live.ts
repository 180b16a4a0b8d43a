import type { SqlClient } from '../pool.ts'
import { live, shadow } from './generations.ts'

/**
 * Messages that are in the rebuilt tables and that the live consumer has not finished. Their external effects
 * are not requested yet.
 */
export interface Unfinished {
  /** Not read, or being retried: without a live marker. */
  readonly unread: number
  /** Stored, deferred or waiting: a worker will process them. */
  readonly pending: number
  /** Parked, dead or quarantined, with a row that may be redriven. */
  readonly forPeople: number
  /** Without a marker after retention has removed some, and without a position to compare. */
  readonly unknown: number
}

/**
 * The live consumer has no marker of message m and has passed its position: retention removed the marker, or
 * the message was never the live consumer's. An attempt without a marker means that a retry copy is on its
 * way, unless markers of that time are removed. $2 and $3 are the live positions by partition.
 */
const isPassed = (m: string) => `
  exists (select from unnest($2::text[], $3::numeric[]) as done (partition, next)
    where done.partition = substring(${m}.position from '^(.*)@[0-9]+$') and substring(${m}.position from '@([0-9]+)$')::numeric < done.next)
  and not exists (select from onceward.attempt a where a.consumer_id = ${live} and a.message_id = ${m}.message_id
    and a.at > coalesce((select h.purged_before from onceward.horizon h where h.consumer_id = ${live}), '-infinity'))`

/** The live consumer holds the same bytes in a row without an id: it could not read them. */
const isHeldUnread = (
  m: string,
) => `exists (select from onceward.held h where h.consumer_id = ${live} and h.message_id is null
  and h.digest = ${m}.digest and h.state in ('parked', 'dead', 'quarantined'))`

const isUnknowable = `exists (select from onceward.horizon h where h.consumer_id = ${live})
  and coalesce(substring(s.position from '^(.*)@[0-9]+$') <> all ($2), true)`

const count = `
  select count(*) filter (where status is null and not unreadable and not passed and not unknowable)::integer as unread,
    count(*) filter (where status is null and not unreadable and unknowable)::integer as unknown,
    count(*) filter (where status in ('stored', 'waiting'))::integer as pending,
    count(*) filter (where unreadable or status in ('parked', 'dead', 'quarantined'))::integer as "forPeople"
  from (
    select l.status, l.message_id is null and ${isHeldUnread('s')} as unreadable, l.message_id is null and ${isPassed('s')} as passed,
      ${isUnknowable} as unknowable
    from onceward.inbox s left join onceward.inbox l on l.consumer_id = ${live} and l.message_id = s.message_id
    where s.consumer_id = ${shadow} and (l.message_id is null or s.status = 'applied' and (l.status in ('stored', 'waiting')
      or l.status in ('parked', 'dead', 'quarantined') and exists (select from onceward.held h
        where h.consumer_id = ${live} and h.message_id = l.message_id and h.digest = l.digest)))) m`

/** By partition, as parameters $2 and $3. */
const placesOf = (positions: ReadonlyMap<string, string>) => [[...positions.keys()], [...positions.values()]]

export async function countUnfinished(
  client: SqlClient,
  { id }: { readonly id: string },
  positions: ReadonlyMap<string, string>,
): Promise<Unfinished> {
  const { rows } = await client.query(count, [id, ...placesOf(positions)])
  return rows[0]
}

/** Of these messages, those that the live consumer has finished and the rebuild has not applied. */
const finished = `
  select m.message_id as id from unnest($4::text[], $5::text[], $6::bytea[]) as m (message_id, position, digest)
  left join lateral (select status from onceward.inbox l where l.consumer_id = ${live} and l.message_id = m.message_id limit 1) l on true
  where not exists (select from onceward.inbox s where s.consumer_id = ${shadow} and s.message_id = m.message_id)
    and (l.status in ('applied', 'ignored', 'stale', 'duplicate')
      or l.status is null and ${isPassed('m')} and not ${isHeldUnread('m')})`

export interface AskedAboutLive {
  readonly id: string | null
  readonly position: string | null
  readonly digest: Buffer
}

export async function findFinishedByLive(
  client: SqlClient,
  campaignId: string,
  positions: ReadonlyMap<string, string>,
  messages: readonly AskedAboutLive[],
): Promise<ReadonlySet<string>> {
  const { rows } = await client.query(finished, [
    campaignId,
    ...placesOf(positions),
    messages.map(one => one.id),
    messages.map(one => one.position),
    messages.map(one => one.digest),
  ])
  return new Set(rows.map(row => row.id as string))
}

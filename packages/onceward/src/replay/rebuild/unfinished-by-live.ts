import type { SqlClient } from '../../drivers/postgres/pool.ts'
import { type Campaign, rangesOf, refused } from '../campaign/campaign.ts'
import { type LivePositions, livePositions } from '../campaign/live-positions.ts'
import type { RunCampaignOptions } from '../campaign/run-campaign.ts'
import { waitForLive } from '../campaign/wait-for-live.ts'
import { live, shadow } from './carry-markers.ts'

/**
 * Messages that the rebuilt tables have and the live consumer has not finished. Their external effects are
 * still to be asked for.
 */
export interface Unfinished {
  /** Not read, or being retried: live has no marker of them. */
  readonly unread: number
  /** Stored, deferred or waiting for their turn: a worker's. */
  readonly pending: number
  /** Parked, dead or quarantined, with a row that may be tried again. */
  readonly forPeople: number
  /** Without a marker where retention has removed some, and without a position to compare. */
  readonly unknown: number
}

/**
 * Live has no marker of message m, and has passed its position for good: it was removed by retention, or was
 * never live's to do. A message with an attempt and no marker is on its way back as a retry copy, unless
 * markers of that time are removed. $2 and $3 are the positions of the live consumer by partition.
 */
export const isPassed = (m: string) => `
  exists (select from unnest($2::text[], $3::numeric[]) as done (partition, next)
    where done.partition = substring(${m}.position from '^(.*)@[0-9]+$') and substring(${m}.position from '@([0-9]+)$')::numeric < done.next)
  and not exists (select from onceward.attempt a where a.consumer_id = ${live} and a.message_id = ${m}.message_id
    and a.at > coalesce((select h.purged_before from onceward.horizon h where h.consumer_id = ${live}), '-infinity'))`

/** Live holds the same bytes in a row without an id: it could not read them. */
export const isHeldUnread = (
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

export const placesOf = (positions: LivePositions) => [[...positions.keys()], [...positions.values()]]

async function countUnfinished(
  client: SqlClient,
  { id }: Campaign,
  positions: LivePositions,
): Promise<Unfinished> {
  const { rows } = await client.query(count, [id, ...placesOf(positions)])
  return rows[0]
}

/** Under the swap's lock: nothing that the live consumer commits from here on is in these tables. */
export async function assertFinishedByLive(
  client: SqlClient,
  campaign: Campaign,
  positions: LivePositions,
  acceptUnknown: boolean,
): Promise<void> {
  refuseUnfinished(await countUnfinished(client, campaign, positions), acceptUnknown)
}

/** Waits until the live consumer has finished what the rebuild has applied; people are not waited for. */
export async function awaitFinishedByLive(
  campaign: Campaign,
  options: RunCampaignOptions,
  acceptUnknown: boolean,
): Promise<void> {
  const { pool } = options
  const found = await waitForLive(campaign, options, {
    look: async () => countUnfinished(pool, campaign, await positionsOf(campaign, options)),
    waits: ({ unread, pending, forPeople }) => unread + pending > 0 && forPeople === 0,
    text: ({ unread, pending }) =>
      `it has not read ${unread} messages of the rebuilt tables, and ${pending} are stored or deferred`,
  })
  refuseUnfinished(found, acceptUnknown)
}

export async function positionsOf(
  campaign: Campaign,
  { pool, consumer, openReader }: RunCampaignOptions,
): Promise<LivePositions> {
  if (campaign.selection.of !== 'log') return new Map()
  const reader = await openReader(campaign.selection)
  return livePositions(pool, campaign, consumer, rangesOf(campaign), reader).finally(() => reader.close())
}

function refuseUnfinished({ unread, pending, forPeople, unknown }: Unfinished, acceptUnknown: boolean): void {
  const all = unread + pending + forPeople
  if (all === 0 && unknown > 0 && !acceptUnknown)
    throw refused(
      `Retention has removed markers of the live consumer, and ${unknown} messages of the rebuilt tables have neither a marker nor a position in the live log: nobody can tell whether live has finished them. If live has not, a swap drops their external effects and published messages. If they are older than what retention removed, swap with --accept-unknown.`,
    )
  if (all === 0) return
  throw refused(
    `${all} messages of the rebuilt tables are not finished by the live consumer, and a swap would drop their external effects and published messages: ${unread} are not read or are being retried, ${pending} are stored, deferred or waiting, ${forPeople} are parked, dead or quarantined. Run the live consumer and its workers until they are done, and replay or skip those that wait for people ("onceward parked list"). Then swap again. Messages of a file that live never gets are applied by a replay campaign of that file with --never-live first.`,
  )
}

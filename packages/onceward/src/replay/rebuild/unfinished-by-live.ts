import type { SqlClient } from '../../drivers/postgres/pool.ts'
import { countUnfinished, type Unfinished } from '../../drivers/postgres/rebuild/finished-by-live.ts'
import { type Campaign, rangesOf, refused } from '../campaign/campaign.ts'
import { type LivePositions, livePositions } from '../campaign/live-positions.ts'
import type { RunCampaignOptions } from '../campaign/run-campaign.ts'
import { waitForLive } from '../campaign/wait-for-live.ts'

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

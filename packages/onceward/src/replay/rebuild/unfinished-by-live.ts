import type { SqlClient } from '../../drivers/postgres/pool.ts'
import { countUnfinished, type Unfinished } from '../../drivers/postgres/rebuild/finished-by-live.ts'
import { type Campaign, rangesOf, refused } from '../campaign/campaign.ts'
import { type LivePositions, livePositions } from '../campaign/live-positions.ts'
import type { RunCampaignOptions } from '../campaign/run-campaign.ts'
import { waitForLive } from '../campaign/wait-for-live.ts'

/** Called under the swap's lock: later commits of the live consumer are not in these tables. */
export async function assertFinishedByLive(
  client: SqlClient,
  campaign: Campaign,
  positions: LivePositions,
  acceptUnknown: boolean,
): Promise<void> {
  refuseUnfinished(await countUnfinished(client, campaign, positions), acceptUnknown)
}

/**
 * Waits until the live consumer has finished the messages that the rebuild has applied. It does not wait for
 * messages that need an operator.
 */
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
      `Retention has removed markers of the live consumer, and ${unknown} messages of the rebuilt tables have neither a marker nor a position in the live log. Whether the live consumer has finished them is unknown. If it has not, a swap drops their external effects and published messages. If they are older than the removed markers, swap with --accept-unknown.`,
    )
  if (all === 0) return
  throw refused(
    `The live consumer has not finished ${all} messages of the rebuilt tables, and a swap would drop their external effects and published messages: ${unread} are not read or are being retried, ${pending} are stored, deferred or waiting, ${forPeople} are parked, dead or quarantined. Run the live consumer and its workers until they are done, and redrive or skip those that wait for an operator ("onceward parked list"). Then swap again. If messages of a file never reach the live consumer, apply them first by a replay campaign of that file with --never-live.`,
  )
}

import type { SqlClient, SqlPool } from '../../drivers/postgres/pool.ts'
import { carryMarkers, forgetSince, missingFromShadow } from '../../drivers/postgres/rebuild/carry-markers.ts'
import { closeRebuilt, reopenRebuilt } from '../../drivers/postgres/rebuild/held-by-rebuild.ts'
import { recordRollback, recordSwap } from '../../drivers/postgres/rebuild/record-swap.ts'
import { oldSchema, shadowSchema } from '../../drivers/postgres/rebuild/schemas.ts'
import { setRoleSettings } from '../../drivers/postgres/role-settings.ts'
import { asksOutside } from '../campaign/ahead-of-live.ts'
import { type Campaign, readCampaign, refused } from '../campaign/campaign.ts'
import { assertNoneGivenUp } from '../campaign/given-up.ts'
import type { RunCampaignOptions } from '../campaign/run-campaign.ts'
import {
  type Accepted,
  assertAccepted,
  compareTables,
  lookAtTables,
  type TableComparison,
} from './compare-tables.ts'
import { assertExchangeable, exchangeTables, pairsOf } from './exchange-tables.ts'
import { followLive } from './follow-live.ts'
import { assertFinishedByLive, awaitFinishedByLive, positionsOf } from './unfinished-by-live.ts'

export type RebuildOptions = RunCampaignOptions

export interface Swap {
  readonly campaign: Campaign
  readonly tables: readonly string[]
  /**
   * Swap: messages of which live had no marker; it skips them. Of a consumer with external effects, only
   * those it has passed. Rollback: messages to be replayed.
   */
  readonly messages: number
  /**
   * Swap, of consumers without external effects: messages that live held, closed because the new tables have
   * them.
   */
  readonly closed?: number
  /** Swap: how the tables compared. */
  readonly compared?: readonly TableComparison[]
}

/** Rounds of following the live log before it is held up for the last one. */
const roundsMax = 5
const nearlyThere = 500

/**
 * Puts the rebuilt tables in the place of the live ones. First it follows the live consumer until little is
 * left; then it locks the live tables, so that live batches wait (and run again should they wait too long),
 * follows the rest, and moves tables and memory in one transaction. At that moment the new tables have
 * exactly what live has finished.
 */
export async function swapTables(
  id: string,
  options: RebuildOptions & {
    readonly acceptMissing: boolean
    readonly acceptUnknown: boolean
    readonly accept: Accepted
  },
): Promise<Swap> {
  const { pool, env, consumer, acceptMissing, acceptUnknown, accept } = options
  const campaign = await assertRebuild(pool, id, 'verified')
  if (asksOutside(consumer)) await awaitFinishedByLive(campaign, options, acceptUnknown)
  for (let round = 0; round < roundsMax && (await followLive(id, options)) > nearlyThere; round++);
  const { tables } = campaign.plan!
  // Live only moves on, so a position from before the lock is still passed under it; a broker is not asked
  // while live batches wait.
  const positions = asksOutside(consumer) ? await positionsOf(campaign, options) : null
  // Before anybody waits for the lock, and again under it, where nothing moves.
  assertAccepted(await lookAtTables(pool, id, consumer), accept)
  const swap = await lockedTransaction(pool, tables!, async client => {
    const missing = await followToTheEnd(client, campaign, options)
    await assertExchangeable(client, tables!, shadowSchema(id))
    if (missing > 0 && !acceptMissing)
      throw refused(
        `${missing} messages that are applied live are not in the rebuilt tables: they are no longer in the log, or came from elsewhere. Rebuild from more, or accept that they are missing.`,
      )
    const compared = await compareTables(client, campaign, consumer, acceptMissing)
    assertAccepted(compared, accept)
    if (positions !== null) await assertFinishedByLive(client, campaign, positions, acceptUnknown)
    const messages = await carryMarkers(client, campaign)
    const closed = await closeRebuilt(client, campaign)
    // Behind it: whoever gave one of those rows up has committed, or finds it gone.
    await assertNoneGivenUp(client, campaign)
    await exchangeTables(client, tables!, shadowSchema(id), oldSchema(id))
    await recordSwap(client, id, { tables: compared, accepted: accept })
    env.reach('swap.moved')
    return { tables: tables!, messages, closed, compared }
  })
  env.reach('swap.done')
  return { campaign: await readCampaign(pool, id), ...swap }
}

/**
 * Puts the old tables back. What was applied since is in the new ones alone, so its markers go in the same
 * transaction: a replay of that time applies exactly those messages to the old tables.
 */
export async function rollBackTables(id: string, { pool, env }: RebuildOptions): Promise<Swap> {
  const campaign = await assertRebuild(pool, id, 'swapped')
  const { tables } = campaign.plan!
  const swap = await lockedTransaction(pool, tables!, async client => {
    await assertExchangeable(client, tables!, oldSchema(id))
    const messages = await forgetSince(client, campaign)
    await reopenRebuilt(client, campaign)
    await exchangeTables(client, tables!, oldSchema(id), shadowSchema(id))
    await recordRollback(client, id)
    env.reach('swap.undone')
    return { tables: tables!, messages }
  })
  return { campaign: await readCampaign(pool, id), ...swap }
}

/** A live batch that writes to none of the tables commits beside the lock, and may do so after a round. */
async function followToTheEnd(
  client: SqlClient,
  campaign: Campaign,
  options: RebuildOptions & { readonly acceptMissing: boolean },
): Promise<number> {
  for (let round = 1; ; round++) {
    const taken = await followLive(campaign.id, options)
    const missing = await missingFromShadow(client, campaign)
    if (missing === 0 || options.acceptMissing || (taken === 0 && round > 1) || round === roundsMax)
      return missing
  }
}

async function assertRebuild(pool: SqlPool, id: string, state: Campaign['state']): Promise<Campaign> {
  const campaign = await readCampaign(pool, id)
  if (campaign.mode !== 'rebuild') throw refused(`Campaign ${id} is no rebuild.`)
  if (campaign.state !== state) throw refused(`Campaign ${id} is ${campaign.state}, not ${state}.`)
  return campaign
}

/** Nobody writes to the tables while it lasts; the server ends it should this process freeze. */
async function lockedTransaction<T>(
  pool: SqlPool,
  tables: readonly string[],
  work: (client: SqlClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect()
  let failed = true
  const heard = () => {}
  client.on('error', heard)
  try {
    await client.query(
      `begin; set local lock_timeout = '10s'; set local idle_in_transaction_session_timeout = '60s'; ${setRoleSettings}`,
    )
    const names = (await pairsOf(client, [...tables].sort(), '')).map(({ live }) => live)
    await client.query(`lock table ${names.join(', ')} in access exclusive mode`)
    const result = await work(client)
    await client.query('commit')
    failed = false
    return result
  } finally {
    client.removeListener('error', heard)
    client.release(failed)
  }
}

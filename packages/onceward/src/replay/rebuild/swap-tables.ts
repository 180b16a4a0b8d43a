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

/** A swap of rebuilt tables: what was moved, and whether it can be taken back. */
export interface Swap {
  readonly campaign: Campaign
  readonly tables: readonly string[]
  /**
   * Swap: messages without a marker of the live consumer; it will skip them. For a consumer with external
   * effects, only messages it has passed. Rollback: messages to replay.
   */
  readonly messages: number
  /**
   * Swap of a consumer without external effects: held messages that were closed because the new tables
   * contain their effects.
   */
  readonly closed?: number
  /** Swap: the comparison of the tables. */
  readonly compared?: readonly TableComparison[]
}

/** Rounds of following the live log before the lock. */
const roundsMax = 5
const nearlyThere = 500

/**
 * Replaces the live tables by the rebuilt ones. It follows the live consumer until little is left. Then it
 * locks the live tables: live batches wait, and run again if they wait too long. Under the lock it follows
 * the rest, and moves tables and markers in one transaction. At that moment the new tables contain exactly
 * the messages that the live consumer has finished.
 */
export async function swapTables(
  id: string,
  options: RebuildOptions & {
    readonly acceptMissing: boolean
    readonly acceptUnknown: boolean
    readonly accept: Accepted
    readonly because: string | undefined
  },
): Promise<Swap> {
  const { pool, env, consumer, acceptMissing, acceptUnknown, accept, because } = options
  const accepted = because === undefined ? accept : { because, acceptMissing, acceptUnknown, accept }
  const campaign = await assertRebuild(pool, id, 'verified')
  if (asksOutside(consumer)) await awaitFinishedByLive(campaign, options, acceptUnknown)
  for (let round = 0; round < roundsMax && (await followLive(id, options)) > nearlyThere; round++);
  const { tables } = campaign.plan!
  // The live position never moves back, so a position read before the lock stays valid. The broker is not
  // queried while live batches wait.
  const positions = asksOutside(consumer) ? await positionsOf(campaign, options) : null
  // Checked before the lock, and again under it, when nothing changes.
  assertAccepted(await lookAtTables(pool, id, consumer), accept)
  const swap = await lockedTransaction(pool, tables!, async client => {
    const missing = await followToTheEnd(client, campaign, options)
    await assertExchangeable(client, tables!, shadowSchema(id))
    if (missing > 0 && !acceptMissing)
      throw refused(
        `${missing} messages that the live consumer has applied are not in the rebuilt tables: they are no longer in the log, or came from another source. Rebuild from more history, or accept that they are missing.`,
      )
    const compared = await compareTables(client, campaign, consumer, acceptMissing)
    assertAccepted(compared, accept)
    if (positions !== null) await assertFinishedByLive(client, campaign, positions, acceptUnknown)
    const messages = await carryMarkers(client, campaign)
    const closed = await closeRebuilt(client, campaign)
    // After closing: an operator who gave up one of those rows has committed, or finds it gone.
    await assertNoneGivenUp(client, campaign)
    await exchangeTables(client, tables!, shadowSchema(id), oldSchema(id))
    await recordSwap(client, id, { tables: compared, accepted })
    env.reach('swap.moved')
    return { tables: tables!, messages, closed, compared }
  })
  env.reach('swap.done')
  return { campaign: await readCampaign(pool, id), ...swap }
}

/**
 * Restores the old tables. Messages applied since the swap are only in the new tables, so the same
 * transaction removes their markers. A replay of that period applies exactly those messages to the old
 * tables.
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

/** A live batch that writes to none of the tables commits despite the lock, possibly after a round. */
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
  if (campaign.mode !== 'rebuild') throw refused(`Campaign ${id} is not a rebuild.`)
  if (campaign.state !== state) throw refused(`Campaign ${id} is ${campaign.state}, not ${state}.`)
  return campaign
}

/**
 * No other transaction writes to the tables meanwhile. The server ends the transaction if this process
 * freezes.
 */
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

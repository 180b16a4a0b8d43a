import type { LogRange } from '../../sources/log/range-reader.ts'
import type { SqlClient, SqlPool } from '../../stores/postgres/pool.ts'
import { asksOutside } from '../ahead-of-live.ts'
import { type Campaign, rangesOf, readCampaign, refused } from '../campaign.ts'
import { assertNoneGivenUp } from '../given-up.ts'
import { edgesOf } from '../preview-campaign.ts'
import { type RunCampaignOptions, runCampaign } from '../run-campaign.ts'
import { verifyCampaign } from '../steer-campaign.ts'
import { carryMarkers, forgetSince, missingFromShadow } from './carry-markers.ts'
import {
  type Accepted,
  assertAccepted,
  compareTables,
  lookAtTables,
  type TableComparison,
} from './compare-tables.ts'
import { closeRebuilt, reopenRebuilt } from './held-by-rebuild.ts'
import { oldSchema, shadowSchema } from './rebuild-store.ts'

export type RebuildOptions = RunCampaignOptions

export interface Swap {
  readonly campaign: Campaign
  readonly tables: readonly string[]
  /** Swap: messages the new tables have and the live consumer had not come to yet; it skips them. Rollback: messages to be replayed. */
  readonly messages: number
  /** Swap: messages the live consumer held, which are closed because the new tables have them. */
  readonly closed?: number
  /** Swap: how the tables compared. */
  readonly compared?: readonly TableComparison[]
}

/** Rounds of following the live log before it is held up for the last one. */
const roundsMax = 5
const nearlyThere = 500

/**
 * Puts the rebuilt tables in the place of the live ones. First it follows the log until little is left; then it locks the live tables, so that
 * live batches wait (and run again should they wait too long), reads the rest, and moves tables and memory in one transaction.
 */
export async function swapTables(
  id: string,
  options: RebuildOptions & { readonly acceptMissing: boolean; readonly accept: Accepted },
): Promise<Swap> {
  const { pool, world, consumer, acceptMissing, accept } = options
  const campaign = await assertRebuild(pool, id, 'verified')
  for (let round = 0; round < roundsMax && (await catchUp(id, options)) > nearlyThere; round++);
  const { tables } = campaign.plan!
  // Before anybody waits for the lock, and again under it, where nothing moves.
  assertAccepted(await lookAtTables(pool, id, consumer), accept)
  const swap = await lockedTransaction(pool, tables!, async client => {
    await catchUp(id, options)
    const missing = await missingFromShadow(client, campaign)
    if (missing > 0 && !acceptMissing)
      throw refused(
        `${missing} messages that are applied live are not in the rebuilt tables: they are no longer in the log, or came from elsewhere. Rebuild from more, or accept that they are missing.`,
      )
    const compared = await compareTables(client, campaign, consumer, acceptMissing)
    assertAccepted(compared, accept)
    const messages = await carryMarkers(client, campaign)
    const closed = await closeRebuilt(client, campaign)
    // Behind it: whoever gave one of those rows up has committed, or finds it gone.
    await assertNoneGivenUp(client, campaign)
    await moveTables(client, tables!, shadowSchema(id), oldSchema(id))
    await client.query(
      `update onceward.campaign set state = 'swapped', swapped_at = clock_timestamp(), compared = $2 where id = $1`,
      [id, JSON.stringify({ tables: compared, accepted: accept })],
    )
    world.reach('swap.moved')
    return { tables: tables!, messages, closed, compared }
  })
  world.reach('swap.done')
  const notAsked = swap.messages + swap.closed
  if (notAsked > 0 && asksOutside(consumer))
    world.log.warn(
      `The live consumer had not come to ${swap.messages} messages of the rebuilt tables and held ${swap.closed}: it skips them, and their external effects and messages are NEVER asked for. They are written to onceward.would_have of campaign ${id}.`,
      { campaign: id, consumer: consumer.name },
    )
  return { campaign: await readCampaign(pool, id), ...swap }
}

/**
 * Puts the old tables back. What was applied since is in the new ones alone, so its markers go in the same transaction: a replay of that time
 * applies exactly those messages to the old tables.
 */
export async function rollBackTables(id: string, { pool, world }: RebuildOptions): Promise<Swap> {
  const campaign = await assertRebuild(pool, id, 'swapped')
  const { tables } = campaign.plan!
  const swap = await lockedTransaction(pool, tables!, async client => {
    const messages = await forgetSince(client, campaign)
    await reopenRebuilt(client, campaign)
    await moveTables(client, tables!, oldSchema(id), shadowSchema(id))
    await client.query(`update onceward.campaign set state = 'cancelled' where id = $1`, [id])
    world.reach('swap.undone')
    return { tables: tables!, messages }
  })
  return { campaign: await readCampaign(pool, id), ...swap }
}

async function assertRebuild(pool: SqlPool, id: string, state: Campaign['state']): Promise<Campaign> {
  const campaign = await readCampaign(pool, id)
  if (campaign.mode !== 'rebuild') throw refused(`Campaign ${id} is no rebuild.`)
  if (campaign.state !== state) throw refused(`Campaign ${id} is ${campaign.state}, not ${state}.`)
  return campaign
}

/** Follows the log to where it ends now. Answers how much there was to follow. */
async function catchUp(id: string, options: RebuildOptions): Promise<number> {
  const { pool, openReader } = options
  const campaign = await readCampaign(pool, id)
  const { selection } = campaign
  if (selection.of !== 'log' || selection.end !== 'next') return 0
  const reader = await openReader(selection)
  const found = await reader.survey(edgesOf(selection)).finally(() => reader.close())
  const known = rangesOf(campaign)
  const ranges = found.map(range => extended(range, known))
  const more = ranges.reduce((sum, range) => sum + Number(BigInt(range.to) - endOf(range, known)), 0)
  if (more === 0) return 0
  await pool.query(
    `update onceward.campaign set plan = plan || jsonb_build_object('catchUp', $2::jsonb) where id = $1`,
    [id, JSON.stringify(ranges)],
  )
  await runCampaign(id, options)
  const { complete, held } = await verifyCampaign(pool, id)
  if (!complete || held > 0)
    throw refused(`The rebuild did not come through: ${held} messages wait for people. Nothing was swapped.`)
  return more
}

/** From where the plan began, whatever retention has removed since. */
function extended(range: LogRange, known: readonly LogRange[]): LogRange {
  const before = known.find(({ partition }) => partition === range.partition)
  return before === undefined ? range : { ...range, from: before.from, incarnation: before.incarnation }
}

function endOf(range: LogRange, known: readonly LogRange[]): bigint {
  return BigInt(known.find(({ partition }) => partition === range.partition)?.to ?? range.from)
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
      `begin; set local lock_timeout = '10s'; set local idle_in_transaction_session_timeout = '60s'`,
    )
    const { rows } = await client.query(
      `select string_agg(format('%I.%I', split_part(t, '.', 1), split_part(t, '.', 2)), ', ' order by t) as list from unnest($1::text[]) as t`,
      [tables],
    )
    await client.query(`lock table ${rows[0].list} in access exclusive mode`)
    const result = await work(client)
    await client.query('commit')
    failed = false
    return result
  } finally {
    client.removeListener('error', heard)
    client.release(failed)
  }
}

/** Sequences that belong to a column. Both tables count with the same one: it stays with whichever is live, or it would go with the old one. */
const sequences = `
  select format('%I.%I', n.nspname, s.relname) as sequence, quote_ident(a.attname) as column
  from pg_depend d join pg_class s on s.oid = d.objid and s.relkind = 'S' join pg_namespace n on n.oid = s.relnamespace
  join pg_attribute a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid
  where d.classid = 'pg_class'::regclass and d.refclassid = 'pg_class'::regclass and d.deptype = 'a' and d.refobjid = to_regclass($1)`

/** Live ones to `aside`, those in `from` to where the live ones were. Indexes and constraints go with their tables. */
async function moveTables(
  client: SqlClient,
  tables: readonly string[],
  from: string,
  aside: string,
): Promise<void> {
  await client.query(`create schema if not exists ${aside}`)
  for (const table of tables) {
    const { rows } = await client.query(
      `select format('%I', split_part($1, '.', 1)) as schema, format('%I', split_part($1, '.', 2)) as name`,
      [table],
    )
    const { schema, name } = rows[0]
    const owned = (await client.query(sequences, [`${schema}.${name}`])).rows
    for (const { sequence } of owned) await client.query(`alter sequence ${sequence} owned by none`)
    await client.query(`alter table ${schema}.${name} set schema ${aside}`)
    await client.query(`alter table ${from}.${name} set schema ${schema}`)
    for (const { sequence, column } of owned)
      await client.query(`alter sequence ${sequence} owned by ${schema}.${name}.${column}`)
  }
}

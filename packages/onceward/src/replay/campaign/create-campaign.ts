import type { Consumer } from '../../contract/define-consumer.ts'
import type { CampaignMode, SqlTransaction } from '../../contract/handler.ts'
import { rebuiltTables } from '../../contract/rebuilt-tables.ts'
import { acts } from '../../drivers/postgres/acts.ts'
import { assertUsable } from '../../drivers/postgres/assert-usable.ts'
import { declareConsumer, readRebuildKeys } from '../../drivers/postgres/campaign/campaign-consumer.ts'
import type { SqlClient, SqlPool } from '../../drivers/postgres/pool.ts'
import { OncewardError } from '../../errors.ts'
import { act } from '../../operations/act.ts'
import { type Campaign, readCampaign } from './campaign.ts'
import { assertSelection, type Selection } from './selection.ts'

/** What `create` of a campaign needs: its mode, its selection and who asks for it. */
export interface CampaignRequest {
  readonly mode: CampaignMode
  readonly selection: Selection
  /**
   * Repair: selects the keys whose facts a projection left out until they are rebuilt. They must be order
   * keys or aggregate ids.
   */
  readonly rebuildKeys?: boolean
  readonly reason: string
  /**
   * Default `suppressed`. `requested`: external effects and messages are carried out. Only in backfill and
   * repair, and never without approval.
   */
  readonly effects?: 'suppressed' | 'requested'
  /** Messages per second at most. Default: unlimited. */
  readonly rateMax?: number | null
}

/** Records the request. Nothing is read and nothing runs. The requester is the database's session user. */
export async function createCampaign(
  pool: SqlPool,
  consumer: Consumer<unknown, SqlTransaction>,
  request: CampaignRequest,
): Promise<Campaign> {
  await assertUsable(pool)
  const { mode, reason, effects = 'suppressed', rateMax = null } = request
  const keys = request.rebuildKeys ? { keys: await keysToRebuild(pool, consumer) } : {}
  const selection: Selection = { ...request.selection, ...keys }
  assertSelection(selection)
  assertSensible(consumer, mode, selection, effects)
  if (reason.trim() === '') throw refuse('give a reason; the campaign keeps it')
  const { name, generation } = consumer
  await declareIfAllowed(pool, consumer)
  const { id } = await act<{ id: string }>(
    pool,
    acts.createCampaign,
    [name, generation, mode, effects, JSON.stringify(selection), rateMax, reason],
    undefined,
    'onceward replay list',
  )
  return readCampaign(pool, id)
}

/**
 * A campaign's risk is the risk that the database has recorded for the consumer. A process, which may write
 * the table, declares a consumer that has never run. A person's role may not write it, and the campaign then
 * counts as the gravest risk.
 */
async function declareIfAllowed(
  client: SqlClient,
  consumer: Consumer<unknown, SqlTransaction>,
): Promise<void> {
  await declareConsumer(client, consumer)
}

async function keysToRebuild(
  client: SqlClient,
  { name, generation }: Consumer<unknown, SqlTransaction>,
): Promise<readonly string[]> {
  const keys = await readRebuildKeys(client, { name, generation })
  if (keys.length === 0) throw refuse(`${name} has no keys that await a rebuild`)
  return keys
}

function assertSensible(
  consumer: Consumer<unknown, SqlTransaction>,
  mode: CampaignMode,
  selection: Selection,
  effects: 'suppressed' | 'requested',
): void {
  const { name, dedup, replay, identity } = consumer
  if (!replay.modes.includes(mode))
    throw refuse(
      `the contract of ${name} allows ${replay.modes.join(', ') || 'no mode'}. To allow ${mode}, add it to replay.modes`,
    )
  if (dedup === 'checkpoint' && mode !== 'forensic')
    throw refuse(
      `${name} records only its live position (dedup 'checkpoint'), so history would be applied twice`,
    )
  if (effects === 'requested' && mode !== 'backfill' && mode !== 'repair')
    throw refuse(`external effects can be requested in backfill and repair only, not in ${mode}`)
  if (effects === 'requested' && consumer.replay.effects === 'never')
    throw refuse("its contract says replay.effects 'never': no campaign may call or publish")
  if (mode === 'repair' && selection.keys === undefined) throw refuse('a repair needs keys: name them')
  if (mode !== 'repair' && selection.of !== 'parked' && selection.keys !== undefined)
    throw refuse('keys are for a repair; in other modes they would leave messages out')
  if (selection.of === 'held' && mode !== 'forensic' && mode !== 'rebuild')
    throw refuse(
      'held messages are not history: they wait for a worker or for an operator. Select parked messages, or release them with "onceward parked" or "onceward work"',
    )
  if (selection.of === 'parked' && (mode === 'forensic' || mode === 'rebuild'))
    throw refuse(`a ${mode} only reads: select held messages instead, by their states`)
  if ((selection.of === 'file' || selection.of === 'held') && identity.id === 'position')
    throw refuse(
      `${name} identifies messages by their position in its own log, and these come from elsewhere`,
    )
  if (mode === 'rebuild' && rebuiltTables(consumer) === null)
    throw refuse(
      'a rebuild needs the names of the tables that the handler writes: name them in replay.tables',
    )
}

function refuse(why: string): OncewardError {
  return new OncewardError('usage', `The campaign was not created: ${why}.`)
}

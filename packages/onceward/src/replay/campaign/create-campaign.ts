import type { Consumer } from '../../contract/define-consumer.ts'
import type { CampaignMode, SqlTransaction } from '../../contract/handler.ts'
import { declareConsumer, readRebuildKeys } from '../../drivers/postgres/campaign/campaign-consumer.ts'
import { createCampaignCall } from '../../drivers/postgres/campaign/steer-campaign.ts'
import { assertUsable } from '../../drivers/postgres/migrate.ts'
import type { SqlClient, SqlPool } from '../../drivers/postgres/pool.ts'
import { OncewardError } from '../../errors.ts'
import { act } from '../../operations/parking/act.ts'
import { type Campaign, readCampaign } from './campaign.ts'
import { assertSelection, type Selection } from './selection.ts'

export interface CampaignRequest {
  readonly mode: CampaignMode
  readonly selection: Selection
  /**
   * Repair: the keys are those of which a projection left facts out until they are rebuilt. They must be
   * order keys or aggregate ids.
   */
  readonly rebuildKeys?: boolean
  readonly reason: string
  /**
   * Default `suppressed`. `requested`: external effects and messages happen; only in backfill and repair, and
   * never without approval.
   */
  readonly effects?: 'suppressed' | 'requested'
  /** Messages a second at most. Default as fast as it goes. */
  readonly rateMax?: number | null
}

/**
 * Writes down what is asked for. Nothing is read and nothing runs. Who asks is the database's session user.
 */
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
  if (reason.trim() === '') throw refuse('say why; it is kept with the campaign')
  const { name, generation } = consumer
  await writeDown(pool, consumer)
  const { id } = await act<{ id: string }>(
    pool,
    createCampaignCall,
    [name, generation, mode, effects, JSON.stringify(selection), rateMax, reason],
    undefined,
    'onceward replay list',
  )
  return readCampaign(pool, id)
}

/**
 * A campaign's risk is what the database knows of the consumer. A process, which may write that, says it for
 * one that has never run; from a person it would be worth nothing, and the campaign then counts as of the
 * gravest risk.
 */
async function writeDown(client: SqlClient, consumer: Consumer<unknown, SqlTransaction>): Promise<void> {
  await declareConsumer(client, consumer)
}

async function keysToRebuild(
  client: SqlClient,
  { name, generation }: Consumer<unknown, SqlTransaction>,
): Promise<readonly string[]> {
  const keys = await readRebuildKeys(client, { name, generation })
  if (keys.length === 0) throw refuse(`${name} has no keys that are to be rebuilt`)
  return keys
}

function assertSensible(
  consumer: Consumer<unknown, SqlTransaction>,
  mode: CampaignMode,
  selection: Selection,
  effects: 'suppressed' | 'requested',
): void {
  const { name, dedup, replay, identity, effect } = consumer
  if (!replay.modes.includes(mode))
    throw refuse(
      `the contract of ${name} allows ${replay.modes.join(', ') || 'no mode'}. If ${mode} is meant to be possible, add it to replay.modes`,
    )
  if (dedup === 'checkpoint' && mode !== 'forensic')
    throw refuse(
      `${name} remembers nothing but its live position (dedup 'checkpoint'), so history would be applied twice`,
    )
  if (effects === 'requested' && mode !== 'backfill' && mode !== 'repair')
    throw refuse(`external effects can be asked for in backfill and repair only, not in ${mode}`)
  if (effects === 'requested' && consumer.replay.effects === 'never')
    throw refuse("its contract says replay.effects 'never': no campaign may call or publish")
  if (mode === 'repair' && selection.keys === undefined)
    throw refuse('a repair is of selected keys: name them')
  if (mode !== 'repair' && selection.of !== 'parked' && selection.keys !== undefined)
    throw refuse('keys are for a repair; a selection of keys leaves holes in everything else')
  if (selection.of === 'held' && mode !== 'forensic' && mode !== 'rebuild')
    throw refuse(
      'what is held is not history yet: it waits for its turn or for people. Select what is parked, or release it with "onceward parked" or "onceward work"',
    )
  if (selection.of === 'parked' && (mode === 'forensic' || mode === 'rebuild'))
    throw refuse(`a ${mode} only reads: select what is held instead, with its states`)
  if ((selection.of === 'file' || selection.of === 'held') && identity.id === 'position')
    throw refuse(`${name} knows messages by their place in its own log, and these come from elsewhere`)
  if (mode === 'rebuild' && replay.tables.length === 0 && effect?.apply?.tables === undefined)
    throw refuse('a rebuild needs to know which tables are written: name them in replay.tables')
}

function refuse(why: string): OncewardError {
  return new OncewardError('usage', `The campaign was not created: ${why}.`)
}

import type { Consumer } from '../contract/define-consumer.ts'
import type { SqlTransaction } from '../contract/handler.ts'
import type { BrokerSecurity } from '../drivers/broker-security.ts'
import { assertUsable } from '../drivers/postgres/assert-usable.ts'
import { createPool, type SqlPool } from '../drivers/postgres/pool.ts'
import { ServerIncarnation } from '../drivers/postgres/server-incarnation.ts'
import { createPostgresStore } from '../drivers/postgres/store.ts'
import { createInlineCalls } from '../effects/external/inline-calls.ts'
import type { Environment } from '../environment.ts'
import { OncewardError } from '../errors.ts'
import type { RangeReader } from '../ports/range-reader.ts'
import type { Store } from '../ports/store.ts'
import { findArchive } from '../replay/archive/find-archive.ts'
import { namesOf } from '../replay/archive/names-of.ts'
import type { Campaign } from '../replay/campaign/campaign.ts'
import type { CampaignProgress } from '../replay/campaign/campaign-progress.ts'
import { type CampaignRequest, createCampaign } from '../replay/campaign/create-campaign.ts'
import { type CampaignPreview, previewCampaign } from '../replay/campaign/preview-campaign.ts'
import { runCampaign } from '../replay/campaign/run-campaign.ts'
import type { Selection } from '../replay/campaign/selection.ts'
import { type Accepted, lookAtTables, type TableComparison } from '../replay/rebuild/compare-tables.ts'
import { type RebuildOptions, rollBackTables, type Swap, swapTables } from '../replay/rebuild/swap-tables.ts'
import { prepareOf, withEnvironment } from './addresses.ts'
import { addressingOf } from './consumer-outlets.ts'
import { instanceName } from './instance-name.ts'
import { openSelection } from './open-selection.ts'
import { realEnvironment } from './real-environment.ts'
import { assertSameDatabase } from './same-database.ts'

/** Where campaigns of a consumer find their database and brokers. */
export interface ReplayOptions extends BrokerSecurity {
  readonly databaseUrl: string
  /** Used instead of a pool of its own, and left open. Enough to create and preview campaigns. */
  readonly pool?: SqlPool | undefined
  readonly kafkaBootstrap?: string | undefined
  readonly rabbitmqStreamUrl?: string | undefined
  /** Refuses a database of another environment. */
  readonly environment?: string | undefined
  readonly store?: Store<SqlTransaction> | undefined
  readonly env?: Environment
  readonly instance?: string
  /**
   * How long a campaign or swap waits for a live consumer that is behind, and under key order for live
   * workers without a heartbeat, before it is refused or ends. Default one minute.
   */
  readonly waitMaxMs?: number
}

/** Steps of a campaign that need the consumer's contract; the others need only the database. */
export interface Replay {
  create(request: CampaignRequest): Promise<Campaign>
  preview(id: string, options?: { readonly dryRun?: boolean }): Promise<CampaignPreview>
  /**
   * Resolves when the campaign has ended, paused or was cancelled; rejects when it failed. Aborting the
   * signal pauses it.
   */
  run(
    id: string,
    options?: {
      readonly onProgress?: (progress: CampaignProgress) => void
      readonly signal?: AbortSignal
      readonly waitMaxMs?: number
    },
  ): Promise<Campaign>
  /**
   * Rebuild: replaces the live tables at the position of the live consumer. Waits for a consumer that is
   * behind, up to the configured limit.
   */
  swap(
    id: string,
    options?: {
      /** Swaps even if messages applied live are missing in the rebuilt tables. */
      readonly acceptMissing?: boolean
      /**
       * Swaps even if retention removed the markers that prove that the live consumer finished their
       * messages.
       */
      readonly acceptUnknown?: boolean
      /** Swaps even if rows differ: a reason by table name. */
      readonly accept?: Accepted
      /** Recorded in the history of the campaign and in the audit, with what is accepted. */
      readonly because?: string
      readonly waitMaxMs?: number
    },
  ): Promise<Swap>
  /** Rebuild: compares the live tables with the rebuilt ones. Changes nothing. */
  compare(id: string): Promise<readonly TableComparison[]>
  rollBack(id: string): Promise<Swap>
  close(): Promise<void>
}

/** Opens everything that campaigns of this consumer need. Runs nothing. */
export async function openReplay<M>(
  contract: Consumer<M, SqlTransaction>,
  options: ReplayOptions,
): Promise<Replay> {
  const consumer = contract as Consumer<unknown, SqlTransaction>
  const incarnation = new ServerIncarnation()
  const own =
    options.pool === undefined
      ? createPool(options.databaseUrl, {
          max: consumer.batch.inFlightMax + 4,
          verify: client => incarnation.check(client),
        })
      : null
  const pool = own ?? options.pool!
  const close = async () => own?.end()
  const env = options.env ?? realEnvironment()
  const reached = withEnvironment(options)
  const { environment } = reached
  try {
    await assertUsable(pool, environment)
    if (options.store !== undefined) await assertSameDatabase(options.store, pool)
  } catch (error) {
    await close()
    throw error
  }
  const store =
    options.store ??
    createPostgresStore({
      pool,
      incarnation,
      log: env.log,
      prepare: prepareOf({}),
      ...(environment && { environment }),
    })
  const instance = options.instance ?? instanceName()
  const openReader = (selection: Selection) => openSelection(selection, consumer, { ...reached, pool })
  const { waitMaxMs = 60_000 } = options
  const callInline = createInlineCalls(consumer, { env, readVariable: name => process.env[name] })
  const around = { consumer, store, pool, openReader, env, instance, waitMaxMs, callInline }
  const rebuild: RebuildOptions = around
  return {
    async create(request) {
      const { selection } = request
      if (selection.of === 'archive') await findArchive(selection.path, await namesOf(pool, consumer.name))
      else if (selection.of !== 'parked') await assertReadable(selection, openReader)
      return createCampaign(pool, consumer, request)
    },
    preview: (id, { dryRun = false } = {}) => previewCampaign(pool, id, { consumer, openReader, dryRun }),
    run: async (id, more = {}) => {
      // A campaign has no relay: its messages go to the destinations of the consumer's last run. Without a
      // known destination, a message is refused.
      const addressing = await addressingOf(consumer, [], pool).catch(() => undefined)
      return runCampaign(id, { ...around, addressing, ...more })
    },
    swap: (id, { acceptMissing = false, acceptUnknown = false, accept = {}, because, ...more } = {}) =>
      swapTables(id, { ...rebuild, acceptMissing, acceptUnknown, accept, because, ...more }),
    compare: id => lookAtTables(pool, id, consumer),
    rollBack: id => rollBackTables(id, rebuild),
    close,
  }
}

/**
 * Refuses a selection that cannot be read before the campaign is created. Brokers are not queried yet.
 */
async function assertReadable(
  selection: Selection,
  openReader: (selection: Selection) => Promise<RangeReader>,
): Promise<void> {
  const reader = await openReader(selection)
  try {
    if (selection.of !== 'file') return
    const ranges = await reader.survey({ start: 'first', end: 'next' })
    if (ranges.length === 0)
      throw new OncewardError('usage', `The campaign was not created: no file is named ${selection.path}.`)
  } finally {
    await reader.close()
  }
}

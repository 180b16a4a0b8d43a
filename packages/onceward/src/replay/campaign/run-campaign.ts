import type { Consumer } from '../../contract/define-consumer.ts'
import { decidedAtOnce } from '../../contract/failure-rules.ts'
import type { SqlTransaction } from '../../contract/handler.ts'
import { PullSource } from '../../drivers/log/pull-source.ts'
import { assertUsable } from '../../drivers/postgres/assert-usable.ts'
import { readDecidedPlaces } from '../../drivers/postgres/campaign/campaign-partitions.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import type { InlineCall } from '../../engine/batch/buffer-effects.ts'
import { ConsumerProcess } from '../../engine/consumer/consumer.ts'
import type { Addressing } from '../../engine/consumer/consumer-facts.ts'
import type { Environment } from '../../environment.ts'
import { errorText } from '../../errors.ts'
import type { LogRange, RangeReader } from '../../ports/range-reader.ts'
import type { Store } from '../../ports/store.ts'
import { ArchiveRangeReader } from '../archive/archive-range-reader.ts'
import { namesOf } from '../archive/names-of.ts'
import { createParkedProcess } from '../parked/parked-process.ts'
import { aroundRebuild, rebuildStore } from '../rebuild/rebuild-store.ts'
import { createShadow, dropCancelled } from '../rebuild/shadow-tables.ts'
import { asksOutside, assertBehindLive } from './ahead-of-live.ts'
import { assertOfConsumer } from './assert-of-consumer.ts'
import { type Campaign, rangesOf, readCampaign, refused, suppressesEffects } from './campaign.ts'
import { CampaignHorizon } from './campaign-horizon.ts'
import { CampaignLease } from './campaign-lease.ts'
import { type CampaignProgress, watchProgress } from './campaign-progress.ts'
import { CampaignReader, type TakesRecords } from './campaign-reader.ts'
import { campaignStore } from './campaign-store.ts'
import { mayWaitAtBroker } from './claim-unless-retried.ts'
import { assertRemembered, needsMemory } from './horizon.ts'
import { watchForMissingWorker } from './missing-worker.ts'
import { selectKeys } from './select-keys.ts'
import type { Selection } from './selection.ts'
import { Throttle } from './throttle.ts'
import { assertKnownToLive } from './unknown-to-live.ts'

export interface RunCampaignOptions {
  readonly consumer: Consumer<unknown, SqlTransaction>
  readonly store: Store<SqlTransaction>
  readonly pool: SqlPool
  readonly openReader: (selection: Selection) => Promise<RangeReader>
  readonly env: Environment
  readonly instance: string
  /** Called about once a second. */
  readonly onProgress?: (progress: CampaignProgress) => void
  /** Aborted: finishes open transactions and pauses. */
  readonly signal?: AbortSignal
  /** Makes the calls of `effects.call` when the campaign may request effects. */
  readonly callInline: InlineCall
  /**
   * How long it waits for live workers that are not running, and for a live consumer that has not read as far
   * as the plan.
   */
  readonly waitMaxMs: number
  /** Destinations of the messages that it was approved to publish. */
  readonly addressing?: Addressing | undefined
  /**
   * Rebuild: continues after its plan with messages that the live consumer has finished. Its position stays
   * at the end of the plan.
   */
  readonly beyond?: Beyond
}

export interface Beyond {
  readonly ranges: readonly LogRange[]
  readonly takes: TakesRecords
}

/**
 * Runs a campaign to its end, to a pause, or until it fails. The next run resumes at its position, also after
 * a crash. It uses the live engine with another source, so an applied message is recognised by its marker.
 */
export async function runCampaign(id: string, options: RunCampaignOptions): Promise<Campaign> {
  const { pool, consumer, env } = options
  await assertUsable(pool)
  const campaign = await readCampaign(pool, id)
  assertOfConsumer(campaign, consumer)
  if (campaign.plan === null) throw refused(`Campaign ${id} has no plan yet: preview it.`)
  await assertRemembered(pool, campaign, campaign.plan)
  await assertBehindLive(campaign, options)
  await assertKnownToLive(campaign, options)
  // A changed archive is refused before the campaign is leased.
  const { selection } = campaign
  const archive =
    selection.of === 'archive'
      ? await ArchiveRangeReader.open(await namesOf(pool, consumer.name), campaign, selection, consumer)
      : null
  const lease = await CampaignLease.take(pool, campaign, options)
  env.reach('replay.taken')
  let failure: unknown = null
  try {
    if (campaign.mode === 'rebuild') await createShadow(pool, campaign)
    await runToTheEnd(await createProcess(campaign, archive, options), campaign, lease, options)
  } catch (error) {
    failure = error
  }
  env.reach('replay.ended')
  await lease.end(failure === null ? null : errorText(failure))
  if (failure !== null) throw failure
  const ended = await readCampaign(pool, id)
  const left = ended.state === 'cancelled' ? await dropCancelled(pool, ended) : null
  if (left !== null) env.log.warn(left, { campaign: id, consumer: consumer.name })
  return ended
}

type Process = ConsumerProcess<unknown, SqlTransaction>

async function createProcess(
  campaign: Campaign,
  archive: RangeReader | null,
  options: RunCampaignOptions,
): Promise<Process> {
  if (campaign.selection.of === 'parked') return createParkedProcess(campaign, options)
  const reader = archive ?? (await options.openReader(campaign.selection))
  return createReadingProcess(campaign, reader, options)
}

async function createReadingProcess(
  campaign: Campaign,
  reader: RangeReader,
  options: RunCampaignOptions,
): Promise<Process> {
  const { consumer, store, instance, pool, callInline, addressing } = options
  const { metrics } = options.env
  const env = { ...options.env, metrics: metrics.inMode(campaign.mode) }
  const { id, mode, generation, rateMax, plan } = campaign
  const throttle = rateMax === null ? null : new Throttle(rateMax, env)
  const selects = plan!.keys === null ? null : selectKeys(plan!.keys, consumer)
  const { ranges, takes = null } = options.beyond ?? { ranges: rangesOf(campaign) }
  const decided = takes === null ? null : await readDecidedPlaces(pool, id)
  const bounded = new CampaignReader(reader, { ranges, throttle, selects, takes, decided })
  const isRebuild = mode === 'rebuild'
  const kept = campaignStore({
    store,
    campaign,
    reach: env.reach,
    staysInPlace: takes !== null,
    leavesRetried:
      needsMemory(mode) &&
      asksOutside(consumer) &&
      suppressesEffects(campaign, consumer) &&
      (await mayWaitAtBroker(pool, campaign, consumer)),
    ...(isRebuild && { around: aroundRebuild<SqlTransaction>(campaign) }),
  })
  return new ConsumerProcess({
    consumer: {
      ...consumer,
      generation,
      settle: { ...consumer.settle, when: 'with effect' },
      // Retried here, in this mode: live workers would apply deferred messages. A forensic attempt leaves
      // nothing, not even its count, so the first one decides.
      failure: {
        ...(mode === 'forensic' ? decidedAtOnce(consumer.failure) : consumer.failure),
        mode: 'block',
      },
    },
    source: new PullSource(() => bounded, {
      name: `campaign ${id} on ${reader.origin}`,
      until: 'end',
      env,
    }),
    store: isRebuild ? rebuildStore(kept, pool, campaign) : kept,
    env,
    mode,
    suppresses: suppressesEffects(campaign, consumer),
    callInline,
    stage: 'inline',
    instance: `${instance} campaign ${id}`,
    ...(addressing && { addressing }),
    ...(needsMemory(mode) && { horizon: new CampaignHorizon(campaign, consumer) }),
  })
}

async function runToTheEnd(
  engine: Process,
  campaign: Campaign,
  lease: CampaignLease,
  { env, pool, onProgress, signal, waitMaxMs }: RunCampaignOptions,
): Promise<void> {
  const stop = () => void engine.drain().catch(() => {})
  lease.watch({ onWanted: stop, onLost: () => engine.leave() })
  const pause = () => lease.pauseWanted()
  signal?.addEventListener('abort', pause, { once: true })
  const endProgress =
    onProgress === undefined ? () => {} : watchProgress(pool, lease.campaignId, env.timers, onProgress)
  let stuck: Error | null = null
  const onStuck = (error: Error) => {
    stuck = error
    stop()
  }
  const tally = () => engine.tally
  const unwatch = watchForMissingWorker({ client: pool, env, campaign, tally, waitMaxMs, onStuck })
  try {
    await engine.start()
    if (signal?.aborted) pause()
    await engine.finished
    if (stuck !== null) throw stuck
  } finally {
    unwatch()
    endProgress()
    lease.unwatch()
    signal?.removeEventListener('abort', pause)
  }
}

import type { SqlTransaction } from '../../contract/handler.ts'
import { joinCampaign } from '../../drivers/postgres/campaign/campaign-partitions.ts'
import { takeParkedPlace } from '../../drivers/postgres/campaign/parked-rows.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import { ConsumerProcess } from '../../engine/consumer/consumer.ts'
import type { Store } from '../../ports/store.ts'
import { HeldSource } from '../../work/held-source.ts'
import { type Campaign, suppressesEffects } from '../campaign/campaign.ts'
import { CampaignJournal } from '../campaign/campaign-journal.ts'
import type { RunCampaignOptions } from '../campaign/run-campaign.ts'
import { Throttle } from '../campaign/throttle.ts'
import { parkedQueue } from './parked-queue.ts'
import { ParkedSession } from './parked-session.ts'

/** Runs the engine as a worker on the parked rows that were selected. */
export async function createParkedProcess(
  campaign: Campaign,
  { consumer, store, pool, env: given, instance, callInline, addressing }: RunCampaignOptions,
): Promise<ConsumerProcess<unknown, SqlTransaction>> {
  const env = { ...given, metrics: given.metrics.inMode?.(campaign.mode) ?? given.metrics }
  const { id, mode, rateMax, plan } = campaign
  const epoch = await takeParkedPlace(pool, id, plan!.parked!.digest)
  const throttle = rateMax === null ? null : new Throttle(rateMax, env)
  const onEnd = () => void engine.drain().catch(() => {})
  const kept = parkedStore({ store, pool, campaign, epoch, throttle, reach: env.reach, onEnd })
  const { leaseMs, workers } = consumer.inbox
  const ordered = consumer.order === 'key'
  const engine: ConsumerProcess<unknown, SqlTransaction> = new ConsumerProcess({
    consumer: {
      ...consumer,
      order: ordered ? 'key' : 'none',
      settle: { ...consumer.settle, when: 'after effect' },
      failure: { ...consumer.failure, mode: 'block' },
      batch: { ...consumer.batch, inFlightMax: workers },
    },
    source: new HeldSource({
      store: kept as unknown as Store<never>,
      env,
      consumerName: consumer.name,
      leaseMs,
      workers,
      ordered,
      rest: null,
    }),
    store: kept,
    env,
    mode,
    suppresses: suppressesEffects(campaign, consumer),
    callInline,
    stage: 'work',
    instance: `${instance} campaign ${id}`,
    ...(addressing && { addressing }),
  })
  return engine
}

interface ParkedStoreOptions {
  readonly store: Store<SqlTransaction>
  readonly pool: SqlPool
  readonly campaign: Pick<Campaign, 'id' | 'selection'>
  readonly epoch: number
  readonly throttle: Throttle | null
  readonly reach: RunCampaignOptions['env']['reach']
  readonly onEnd: () => void
}

function parkedStore(options: ParkedStoreOptions): Store<SqlTransaction> {
  const { store, pool, campaign, epoch, throttle, reach, onEnd } = options
  const { suspects: _, ...kept } = store
  const work = parkedQueue({ pool, inner: store.work!, campaignId: campaign.id, epoch, throttle, onEnd })
  return {
    ...kept,
    work,
    async enroll(facts) {
      const enrolment = await store.enroll(facts)
      await joinCampaign(pool, enrolment.runId, campaign.id)
      return { ...enrolment, campaignId: campaign.id }
    },
    transaction: (enrolment, run) =>
      store.transaction(enrolment, async inner => {
        const journal = new CampaignJournal(campaign, false)
        const giveBack = (leases: Parameters<typeof work.giveBack>[0]) =>
          void work.giveBack(leases).catch(() => {})
        const batch = new ParkedSession(inner, {
          campaignId: campaign.id,
          epoch,
          enrolment,
          journal,
          reach,
          giveBack,
        })
        const result = await run(batch.session)
        await batch.close()
        return result
      }),
  }
}

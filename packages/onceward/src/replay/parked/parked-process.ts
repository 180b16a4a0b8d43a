import type { SqlTransaction } from '../../contract/handler.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import { ConsumerProcess } from '../../engine/consumer/consumer.ts'
import { HeldSource } from '../../inbox/held-source.ts'
import type { Store } from '../../ports/store.ts'
import { type Campaign, suppressesEffects } from '../campaign/campaign.ts'
import { CampaignJournal } from '../campaign/campaign-journal.ts'
import type { RunCampaignOptions } from '../campaign/run-campaign.ts'
import { Throttle } from '../campaign/throttle.ts'
import { parkedQueue } from './parked-queue.ts'
import { ParkedSession } from './parked-session.ts'

/**
 * The place of a campaign on parked rows counts them. Whoever takes it over ends the claims of the one
 * before.
 */
const takePlace = `
  with place as (
    insert into onceward.campaign_partition as p (campaign_id, partition, epoch, run_id, incarnation, next)
    values ($1, 'parked', 1, 0, $2, '0')
    on conflict (campaign_id, partition) do update set epoch = p.epoch + 1, at = clock_timestamp() returning epoch),
  ended as (
    update onceward.held h set epoch = h.epoch + 1, lease_until = null from onceward.campaign_row r
    where r.campaign_id = $1 and r.state = 'open' and h.id = r.held_id and h.state in ('parked', 'dead', 'quarantined')
      and h.lease_until is not null)
  select epoch from place`

/** The engine as a worker of what people have selected among the parked. */
export async function createParkedProcess(
  campaign: Campaign,
  { consumer, store, pool, env: given, instance, callInline, addressing }: RunCampaignOptions,
): Promise<ConsumerProcess<unknown, SqlTransaction>> {
  const env = { ...given, metrics: given.metrics.inMode?.(campaign.mode) ?? given.metrics }
  const { id, mode, rateMax, plan } = campaign
  const { rows } = await pool.query(takePlace, [id, plan!.parked!.digest])
  const epoch = rows[0].epoch as number
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
      await pool.query('update onceward.run set campaign_id = $2 where id = $1', [
        enrolment.runId,
        campaign.id,
      ])
      return { ...enrolment, campaignId: campaign.id }
    },
    transaction: (enrolment, run) =>
      store.transaction(enrolment, async inner => {
        const journal = new CampaignJournal(campaign, false)
        const giveBack = (claims: Parameters<typeof work.giveBack>[0]) =>
          void work.giveBack(claims).catch(() => {})
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

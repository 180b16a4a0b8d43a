import type { Reach } from '../../crash-points.ts'
import { OncewardError } from '../../errors.ts'
import type { Progress } from '../../ports/source.ts'
import type { Enrolment, MarkerStatus, Store, StoreSession } from '../../ports/store.ts'
import type { Campaign } from './campaign.ts'
import { CampaignJournal } from './campaign-journal.ts'
import { movePlaces } from './campaign-places.ts'
import { campaignSession, sqlOf } from './campaign-session.ts'
import { findGivenUp } from './given-up.ts'

export interface CampaignStoreOptions<Tx> {
  readonly store: Store<Tx>
  readonly campaign: Pick<Campaign, 'id' | 'mode' | 'selection'>
  readonly reach: Reach
  /**
   * What is decided is noted beside the place, which does not move: what is left out may be decided later.
   */
  readonly staysInPlace?: boolean
  /** What waits at the broker for its next live try is left to it. */
  readonly leavesRetried?: boolean
  /** Rebuild: called first and last in every transaction. */
  readonly around?: {
    before(session: StoreSession<Tx>): Promise<void>
    after(session: StoreSession<Tx>): Promise<void>
  }
}

/**
 * A store whose positions are a campaign's. Everything else is the consumer's own: markers, held work,
 * attempts; so a message is applied once, whoever brings it. The campaign's journal is written with the
 * effects, and after them where nothing of theirs may last.
 */
export function campaignStore<Tx>(options: CampaignStoreOptions<Tx>): Store<Tx> {
  const { store, campaign, staysInPlace = false } = options
  const { query } = store.sql!
  // Nobody is suspected: a person watches a campaign, looking must leave no attempt behind, and who died of
  // the live consumer is its own affair.
  const { suspects: _, ...kept } = store
  return {
    ...kept,
    async enroll(facts) {
      const enrolment = await store.enroll(facts)
      await query('update onceward.run set campaign_id = $2 where id = $1', [enrolment.runId, campaign.id])
      return { ...enrolment, campaignId: campaign.id }
    },
    transaction: (enrolment, work) =>
      campaign.mode === 'forensic'
        ? leaveNothing(options, enrolment, work)
        : keepAll(options, enrolment, work),
    checkpoints: {
      async take({ runId }, partitions) {
        const { rows } = await query<{ partition: string; epoch: number; incarnation: string; next: string }>(
          `insert into onceward.campaign_partition as p (campaign_id, partition, epoch, run_id)
           select $1, partition, 1, $2 from unnest($3::text[]) as t (partition) order by partition collate "C"
           on conflict (campaign_id, partition)
             do update set epoch = p.epoch + 1, run_id = excluded.run_id, at = clock_timestamp()
           returning partition, epoch, incarnation, next`,
          [campaign.id, runId, partitions],
        )
        return rows.map(({ partition, epoch, incarnation, next }) => ({
          partition,
          epoch,
          lastRun: null,
          stored: next === null ? null : { incarnation, next },
          resumeAt: null,
        }))
      },
      async begin({ runId }, partition, epoch, { incarnation, next }) {
        const { rowCount } = await query(
          `update onceward.campaign_partition p set incarnation = $4, next = place.next, run_id = $6, at = clock_timestamp(),
             ahead = ahead - int8multirange(int8range(null, place.next::bigint))
           from (select case when $7 then coalesce(o.next, $5) else $5 end as next from onceward.campaign_partition o
             where o.campaign_id = $1 and o.partition = $2) place
           where p.campaign_id = $1 and p.partition = $2 and p.epoch = $3`,
          [campaign.id, partition, epoch, incarnation, next, runId, staysInPlace],
        )
        if (rowCount === 0)
          throw new OncewardError(
            'ownership_lost',
            `Another process runs campaign ${campaign.id} by now. Nothing was changed.`,
            { details: { partitions: [partition] } },
          )
      },
      // A gap in history is the campaign's trouble: the live consumer's position is not touched.
      declareLoss: () => Promise.resolve(),
      withdrawLoss: () => Promise.resolve(),
    },
  }
}

/**
 * A repair decides anew what had no effect, and so does whoever brings a dead letter back whose row is gone.
 */
function reconsidered({
  mode,
  selection,
}: CampaignStoreOptions<unknown>['campaign']): readonly MarkerStatus[] {
  const named = selection.includingSkipped === true ? (['ignored'] as const) : []
  const withoutEffect = mode === 'repair' ? (['ignored', 'stale'] as const) : named
  return selection.of === 'archive' ? [...withoutEffect, 'dead', 'quarantined'] : withoutEffect
}

/** Of each batch: what it decides anew, and what people gave up. */
function decisions<Tx>(campaign: CampaignStoreOptions<Tx>['campaign'], session: StoreSession<Tx>) {
  const { id, mode, selection } = campaign
  return {
    reconsiders: reconsidered(campaign),
    ignoredByPeopleOnly: mode !== 'repair',
    givenUp: selection.includingSkipped === true ? undefined : findGivenUp(session, id),
  }
}

function keepAll<Tx, T>(
  { store, campaign, reach, around, staysInPlace = false, leavesRetried = false }: CampaignStoreOptions<Tx>,
  enrolment: Enrolment,
  work: (session: StoreSession<Tx>) => Promise<T>,
): Promise<T> {
  return store.transaction(enrolment, async session => {
    const journal = new CampaignJournal(campaign, false)
    const advance = async (progress: readonly Progress[]) => {
      await around?.after(session)
      const moved = staysInPlace ? progress.map(one => ({ ...one, next: null })) : progress
      const move = movePlaces({ campaignId: campaign.id, runId: enrolment.runId, progress: moved })
      await journal.writeWithEffects(sqlOf(session), move, reach)
    }
    await around?.before(session)
    return work(
      campaignSession(session, {
        journal,
        advance,
        consumerId: enrolment.consumerId,
        leavesRetried,
        ...decisions(campaign, session),
      }),
    )
  })
}

/** Fails outside of a transaction of the store's: BEGIN may be on its way still. */
const assertOurs = `select current_setting('onceward.run')`

class Undone<T> extends Error {
  readonly result: T

  constructor(result: T) {
    super('undone on purpose')
    this.result = result
  }
}

/**
 * Runs everything, undoes it, and writes down what it would have been. Dying in between, the same batch is
 * looked at again.
 */
async function leaveNothing<Tx, T>(
  { store, campaign, reach }: CampaignStoreOptions<Tx>,
  enrolment: Enrolment,
  work: (session: StoreSession<Tx>) => Promise<T>,
): Promise<T> {
  const journal = new CampaignJournal(campaign, true)
  let came: readonly Progress[] = []
  const advance = async (progress: readonly Progress[]) => {
    came = progress
  }
  const { consumerId, runId } = enrolment
  const undone = await store
    .transaction(enrolment, async session => {
      const result = await work(
        campaignSession(session, {
          journal,
          advance,
          consumerId,
          leavesRetried: false,
          ...decisions(campaign, session),
        }),
      )
      throw new Undone(result)
    })
    .catch(error => {
      if (error instanceof Undone) return error as Undone<T>
      throw error
    })
  reach('replay.undone')
  await store.transaction(enrolment, async session => {
    const tx = sqlOf(session)
    await tx.query(assertOurs)
    await journal.write(tx, movePlaces({ campaignId: campaign.id, runId, progress: came }))
  })
  return undone.result
}

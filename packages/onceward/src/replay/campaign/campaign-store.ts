import type { Reach } from '../../crash-points.ts'
import {
  beginCampaignPartition,
  joinCampaign,
  takeCampaignPartitions,
} from '../../drivers/postgres/campaign/campaign-partitions.ts'
import { OncewardError } from '../../errors.ts'
import type { Enrolment } from '../../ports/enrolment.ts'
import type { MarkerStatus } from '../../ports/markers.ts'
import type { Progress } from '../../ports/source.ts'
import type { Store } from '../../ports/store.ts'
import type { StoreSession } from '../../ports/store-session.ts'
import type { Campaign } from './campaign.ts'
import { CampaignJournal } from './campaign-journal.ts'
import { movePlaces } from './campaign-places.ts'
import { campaignSession } from './campaign-session.ts'
import { findGivenUp } from './given-up.ts'
import { sqlOf } from './sql-of.ts'

export interface CampaignStoreOptions<Tx> {
  readonly store: Store<Tx>
  readonly campaign: Pick<Campaign, 'id' | 'mode' | 'selection'>
  readonly reach: Reach
  /**
   * Decisions are recorded beside the position, which does not move: skipped messages may be decided later.
   */
  readonly staysInPlace?: boolean
  /** Messages that wait at the broker for their next live attempt are left to that attempt. */
  readonly leavesRetried?: boolean
  /** Rebuild: called first and last in every transaction. */
  readonly around?: {
    before(session: StoreSession<Tx>): Promise<void>
    after(session: StoreSession<Tx>): Promise<void>
  }
}

/**
 * A store whose positions belong to a campaign. Markers, held work and attempts are the consumer's, so a
 * message is applied once, by the live consumer or by the campaign. The journal is written with the effects.
 * A forensic campaign writes it after the rollback.
 */
export function campaignStore<Tx>(options: CampaignStoreOptions<Tx>): Store<Tx> {
  const { store, campaign, staysInPlace = false } = options
  const client = store.sql!
  // No crash suspects: an operator watches a campaign, a forensic campaign must leave no attempt behind, and
  // crashes of the live consumer do not concern it.
  const { suspects: _, ...kept } = store
  return {
    ...kept,
    async enroll(facts) {
      const enrolment = await store.enroll(facts)
      await joinCampaign(client, enrolment.runId, campaign.id)
      return { ...enrolment, campaignId: campaign.id }
    },
    transaction: (enrolment, work) =>
      campaign.mode === 'forensic'
        ? leaveNothing(options, enrolment, work)
        : keepAll(options, enrolment, work),
    checkpoints: {
      async take({ runId }, partitions) {
        const rows = await takeCampaignPartitions(client, campaign.id, runId, partitions)
        return rows.map(({ partition, epoch, incarnation, next }) => ({
          partition,
          epoch,
          lastRun: null,
          stored: next === null ? null : { incarnation, next },
          resumeAt: null,
        }))
      },
      async begin({ runId }, partition, epoch, position) {
        const begun = { campaignId: campaign.id, partition, epoch, position, runId, staysInPlace }
        if (!(await beginCampaignPartition(client, begun)))
          throw new OncewardError(
            'ownership_lost',
            `Another process has taken over campaign ${campaign.id}. Nothing was changed.`,
            { details: { partitions: [partition] } },
          )
      },
      // A loss in the history concerns the campaign alone: the live consumer's position is not touched.
      declareLoss: () => Promise.resolve(),
      withdrawLoss: () => Promise.resolve(),
    },
  }
}

/**
 * A repair decides messages without an effect again. A campaign from an archive also decides dead letters
 * again whose row is gone.
 */
function reconsidered({
  mode,
  selection,
}: CampaignStoreOptions<unknown>['campaign']): readonly MarkerStatus[] {
  const named = selection.includingSkipped === true ? (['ignored'] as const) : []
  const withoutEffect = mode === 'repair' ? (['ignored', 'stale'] as const) : named
  return selection.of === 'archive' ? [...withoutEffect, 'dead', 'quarantined'] : withoutEffect
}

/** Which messages of a batch are decided again, and which ones operators gave up. */
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

/** Fails outside a transaction of the store: BEGIN may not have arrived yet. */
const assertOurs = `select current_setting('onceward.run')`

class Undone<T> extends Error {
  readonly result: T

  constructor(result: T) {
    super('undone on purpose')
    this.result = result
  }
}

/**
 * Runs the batch, rolls it back, and records its result. After a crash in between, the same batch runs again.
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

import {
  anyRebuilt,
  removeMarkers,
  restoreMarkers,
} from '../../drivers/postgres/campaign/reconsider-markers.ts'
import type { FindGivenUp } from '../../ports/history.ts'
import type { MarkerAnswer, MarkerStatus } from '../../ports/markers.ts'
import type { Progress } from '../../ports/source.ts'
import type { StoreSession } from '../../ports/store-session.ts'
import type { CampaignJournal } from './campaign-journal.ts'
import { claimUnlessRetried } from './claim-unless-retried.ts'
import { overrideSession } from './override-session.ts'
import { sqlOf } from './sql-of.ts'

export interface CampaignSessionOptions {
  readonly journal: CampaignJournal
  readonly consumerId: number
  /**
   * Statuses without an effect whose messages are decided again. A dead or quarantined message is decided
   * again only if its row is gone.
   */
  readonly reconsiders: readonly MarkerStatus[]
  /** Messages that wait at the broker for their next live attempt are left to that attempt. */
  readonly leavesRetried: boolean
  /** Of the ignored messages, only those that an operator gave up are decided again. */
  readonly ignoredByPeopleOnly: boolean
  /** Absent when the campaign includes messages that operators gave up. */
  readonly givenUp: FindGivenUp | undefined
  /** Called instead of the store's fence. */
  readonly advance: (progress: readonly Progress[]) => Promise<void>
}

type Own<Tx> = Pick<StoreSession<Tx>, 'insertMarkers' | 'conclude' | 'log' | 'campaign' | 'history'>

/** The store's session for one batch of a campaign. Position and journal are the campaign's. */
export function campaignSession<Tx>(
  inner: StoreSession<Tx>,
  options: CampaignSessionOptions,
): StoreSession<Tx> {
  const { journal, consumerId, reconsiders, leavesRetried, ignoredByPeopleOnly, givenUp, advance } = options
  const forgotten: Forgotten = new Map()
  const claim: StoreSession<Tx>['insertMarkers'] =
    reconsiders.length > 0
      ? (claims, as) =>
          claimAnew(inner, { consumerId, reconsiders, ignoredByPeopleOnly, forgotten }, claims, as)
      : (claims, as) => inner.insertMarkers(claims, as)
  const own: Own<Tx> = {
    campaign: { journal, givenUp },
    // The campaign's own lookup covers all generations.
    history: { horizon: () => inner.history!.horizon() },
    log: {
      async advance(progress) {
        if (forgotten.size > 0) await assertNoneRebuilt(inner, consumerId, [...forgotten.keys()])
        await advance(progress)
      },
      // The engine asks only when there are no markers, and campaigns have markers.
      positions: () => Promise.resolve(new Map()),
    },
    async conclude(conclusions) {
      await inner.conclude(conclusions)
      const undecided = conclusions.flatMap(({ id, to }) =>
        to === 'retry' ? (forgotten.get(id ?? '') ?? []) : [],
      )
      if (undecided.length > 0) await restoreMarkers(sqlOf(inner), undecided)
    },
    insertMarkers: leavesRetried
      ? (claims, as) => claimUnlessRetried(inner, consumerId, claim, claims, as)
      : claim,
  }
  return overrideSession(inner, own)
}

/** By id, the markers that a batch removed to claim their messages again, as JSON. */
type Forgotten = Map<string, string>

async function claimAnew<Tx>(
  session: StoreSession<Tx>,
  {
    consumerId,
    reconsiders,
    ignoredByPeopleOnly,
    forgotten,
  }: Pick<CampaignSessionOptions, 'consumerId' | 'reconsiders' | 'ignoredByPeopleOnly'> & {
    readonly forgotten: Forgotten
  },
  ...[claims, as]: Parameters<StoreSession<Tx>['insertMarkers']>
): Promise<readonly MarkerAnswer[]> {
  const answers = await session.insertMarkers(claims, as)
  const again = claims.filter((_, index) => leftNothing(answers[index]!, reconsiders))
  if (again.length === 0) return answers
  const removed = await removeMarkers(sqlOf(session), consumerId, {
    ids: again.map(({ id }) => id),
    statuses: reconsiders,
    ignoredByPeopleOnly,
  })
  for (const { id, marker } of removed) forgotten.set(id, marker)
  const anew = await session.insertMarkers(again, as)
  const byId = new Map(again.map(({ id }, index) => [id, anew[index]!]))
  return claims.map(({ id }, index) => byId.get(id) ?? answers[index]!)
}

/** A swap may commit after the claim and already have the effect. Such a batch runs again. */
async function assertNoneRebuilt<Tx>(
  session: StoreSession<Tx>,
  consumerId: number,
  ids: readonly string[],
): Promise<void> {
  if (await anyRebuilt(sqlOf(session), consumerId, ids))
    throw Object.assign(new Error('tables were swapped in while a message was claimed anew'), {
      code: '40001',
    })
}

function leftNothing(answer: MarkerAnswer, reconsiders: readonly MarkerStatus[]): boolean {
  return answer.kind === 'seen' && answer.sameDigest && reconsiders.includes(answer.status)
}

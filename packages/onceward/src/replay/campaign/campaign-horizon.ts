import type { Consumer } from '../../contract/define-consumer.ts'
import type { SqlTransaction } from '../../contract/handler.ts'
import { type HorizonCheck, timeText } from '../../engine/batch/horizon-guard.ts'
import { OncewardError } from '../../errors.ts'
import { ownTimeMs } from '../../message/own-time.ts'
import type { ReadableMessage } from '../../message/received.ts'
import type { StoreSession } from '../../ports/store.ts'
import type { Campaign } from './campaign.ts'

/**
 * Retention goes on while a campaign runs, and may overtake it: so what was asked before it began is asked
 * again for every batch. A message that does not say when it was made is as old as the oldest of the plan,
 * and so is what was archived: its row says more of its marker than its own time does. The campaign ends:
 * parked, as live, a message that most likely was applied would block its key.
 */
export class CampaignHorizon implements HorizonCheck {
  readonly #campaign: Pick<Campaign, 'id' | 'plan'>
  readonly #identity: Consumer<unknown, SqlTransaction>['identity']

  constructor(
    campaign: Pick<Campaign, 'id' | 'plan'>,
    { identity }: Pick<Consumer<unknown, SqlTransaction>, 'identity'>,
  ) {
    this.#campaign = campaign
    this.#identity = identity
  }

  async check<M>(
    fresh: readonly ReadableMessage<M>[],
    _facts: unknown,
    session: Pick<StoreSession<unknown>, 'history'>,
  ): Promise<void> {
    if (session.history === undefined || fresh.length === 0) return
    const { purgedBeforeMs } = await session.history.horizon()
    if (purgedBeforeMs === null) return
    const behind = fresh.find(received => this.#madeMs(received) < purgedBeforeMs)
    if (behind === undefined) return
    const { id } = this.#campaign
    throw new OncewardError(
      'behind_horizon',
      `Markers before ${timeText(purgedBeforeMs)} are removed by now: whether message ${behind.id} was applied is not known any more. Nothing of its batch was applied; what campaign ${id} did before stays done and counted. Cancel it, and create another that begins later, reads without effects (forensic), or rebuilds.`,
      { details: { messageId: behind.id, position: behind.delivery.position } },
    )
  }

  #madeMs(received: ReadableMessage): number {
    const { archive, oldestMs } = this.#campaign.plan!
    const made = archive === undefined ? ownTimeMs(received, this.#identity.idTime as never) : null
    return made ?? oldestMs ?? Number.NEGATIVE_INFINITY
  }
}

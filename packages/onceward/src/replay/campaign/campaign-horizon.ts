import type { Consumer } from '../../contract/define-consumer.ts'
import type { SqlTransaction } from '../../contract/handler.ts'
import { type HorizonCheck, timeText } from '../../engine/batch/horizon-guard.ts'
import { OncewardError } from '../../errors.ts'
import { ownTimeMs } from '../../message/own-time.ts'
import type { ReadableMessage } from '../../message/received.ts'
import type { StoreSession } from '../../ports/store-session.ts'
import type { Campaign } from './campaign.ts'

/**
 * Checks the horizon in every batch, because retention continues while a campaign runs and may overtake it. A
 * message without a time counts as the oldest of the plan. So does an archived message: the age of its row
 * describes its marker better than its own time. A message behind the horizon ends the campaign. Parking it,
 * as the live consumer does, would block its key although it was most likely applied.
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
      `Retention has removed markers before ${timeText(purgedBeforeMs)}, so the store cannot know whether message ${behind.id} was applied. Nothing of its batch was applied; earlier batches of campaign ${id} stay applied and counted. Cancel it, and create another that begins later, reads without effects (forensic), or rebuilds.`,
      { details: { messageId: behind.id, position: behind.delivery.position } },
    )
  }

  #madeMs(received: ReadableMessage): number {
    const { archive, oldestMs } = this.#campaign.plan!
    const made = archive === undefined ? ownTimeMs(received, this.#identity.idTime as never) : null
    return made ?? oldestMs ?? Number.NEGATIVE_INFINITY
  }
}

import type { HeldOrigin } from '../contracts/source.ts'
import type { StoreSession, SuppressedEffect } from '../contracts/store.ts'
import type { Received } from '../message/received.ts'
import type { Spine } from './process-batch.ts'

type Part<M, Tx> = readonly [batch: readonly Received<M>[], spine: Spine<M, Tx>]

/**
 * Of a live worker's batch: stretches that came from one campaign each, or from none, with the spine for it. Null where all of it is live. A campaign
 * on parked rows was approved for them as they are and works in its own mode.
 */
export function partsByOrigin<M, Tx>(
  batch: readonly Received<M>[],
  spine: Spine<M, Tx>,
): readonly Part<M, Tx>[] | null {
  if (spine.mode !== 'live' || batch.every(received => campaignOf(received) === null)) return null
  const parts: [Received<M>[], Spine<M, Tx>][] = []
  let last: string | null | undefined
  for (const received of batch) {
    const origin = campaignOf(received)
    const campaignId = origin?.campaignId ?? null
    if (campaignId !== last) parts.push([[], origin === null ? spine : spineOf(origin, spine)])
    parts.at(-1)![0].push(received)
    last = campaignId
  }
  return parts.length === 1 && last === null ? null : parts
}

function campaignOf({ delivery }: Received): HeldOrigin | null {
  const origin = delivery.held?.cameFrom
  return origin === undefined || origin.campaignId === null ? null : origin
}

/** As the campaign ran: what it may not ask for is not asked for now. */
function spineOf<M, Tx>({ mode, campaignId, effects }: HeldOrigin, spine: Spine<M, Tx>): Spine<M, Tx> {
  const suppresses = effects !== 'requested' || spine.consumer.replay.effects === 'never'
  return { ...spine, mode, suppresses, campaignId: campaignId! }
}

/** Written where people look for what a campaign did not ask for. */
export async function noteSuppressed<M, Tx>(
  effects: readonly SuppressedEffect[],
  session: StoreSession<Tx>,
  { campaignId }: Spine<M, Tx>,
): Promise<void> {
  if (session.book !== undefined) session.book.suppressed(effects)
  else if (campaignId !== undefined && effects.length > 0)
    await session.held!.noteSuppressed(campaignId, effects)
}

import type { HeldOrigin } from '../../contracts/source.ts'
import type { StoreSession, SuppressedEffect } from '../../contracts/store.ts'
import type { Received } from '../../message/received.ts'
import type { Spine } from './commit-batch.ts'

type Part<M, Tx> = readonly [batch: readonly Received<M>[], spine: Spine<M, Tx>]

/**
 * Of a live worker's batch: stretches that were held in one mode by one campaign, or by none, with the spine for it. Null where all of it is live. A
 * campaign on parked rows was approved for them as they are and works in its own mode.
 */
export function partsByOrigin<M, Tx>(
  batch: readonly Received<M>[],
  spine: Spine<M, Tx>,
): readonly Part<M, Tx>[] | null {
  if (spine.mode !== 'live' || batch.every(received => originOf(received) === null)) return null
  const parts: [Received<M>[], Spine<M, Tx>][] = []
  let last: HeldOrigin | null | undefined
  for (const received of batch) {
    const origin = originOf(received)
    if (last === undefined || origin?.campaignId !== last?.campaignId || origin?.mode !== last?.mode)
      parts.push([[], origin === null ? spine : spineOf(origin, spine)])
    parts.at(-1)![0].push(received)
    last = origin
  }
  return parts
}

/** Null for live work. */
function originOf({ delivery }: Received): HeldOrigin | null {
  const origin = delivery.held?.cameFrom
  return origin === undefined || (origin.campaignId === null && origin.mode === 'live') ? null : origin
}

/** As the campaign or the replay ran: what it may not ask for is not asked for now. */
function spineOf<M, Tx>({ mode, campaignId, effects }: HeldOrigin, spine: Spine<M, Tx>): Spine<M, Tx> {
  const suppresses = effects !== 'requested' || spine.consumer.replay.effects === 'never'
  return { ...spine, mode, suppresses, ...(campaignId !== null && { campaignId }) }
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

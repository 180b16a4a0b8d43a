import type { Received } from '../../message/received.ts'
import type { HeldOrigin } from '../../ports/source.ts'
import type { StoreSession, SuppressedEffect } from '../../ports/store.ts'
import type { ConsumerContext } from '../consumer-context.ts'

type Part<M, Tx> = readonly [batch: readonly Received<M>[], context: ConsumerContext<M, Tx>]

/**
 * A live worker's batch in stretches that were held in one mode by one campaign, or by none, each with its
 * context. They are committed one after the other: a key that stops in one is found stopped by the next. A
 * campaign on parked rows was approved for them as they are and works in its own mode.
 */
export function contextsByOrigin<M, Tx>(
  batch: readonly Received<M>[],
  context: ConsumerContext<M, Tx>,
): readonly Part<M, Tx>[] {
  const oneMode = context.stage !== 'work' || context.mode !== 'live'
  if (oneMode || batch.every(received => originOf(received) === null)) return [[batch, context]]
  const parts: [Received<M>[], ConsumerContext<M, Tx>][] = []
  let last: HeldOrigin | null | undefined
  for (const received of batch) {
    const origin = originOf(received)
    if (last === undefined || origin?.campaignId !== last?.campaignId || origin?.mode !== last?.mode)
      parts.push([[], origin === null ? context : contextOf(origin, context)])
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
function contextOf<M, Tx>(
  { mode, campaignId, effects }: HeldOrigin,
  context: ConsumerContext<M, Tx>,
): ConsumerContext<M, Tx> {
  const suppresses = effects !== 'requested' || context.consumer.replay.effects === 'never'
  return { ...context, mode, suppresses, ...(campaignId !== null && { campaignId }) }
}

/** Written where people look for what a campaign did not ask for. */
export async function noteSuppressed<M, Tx>(
  effects: readonly SuppressedEffect[],
  session: StoreSession<Tx>,
  { campaignId }: ConsumerContext<M, Tx>,
): Promise<void> {
  if (session.campaign !== undefined) session.campaign.journal.suppressed(effects)
  else if (campaignId !== undefined && effects.length > 0)
    await session.held!.noteSuppressed(campaignId, effects)
}

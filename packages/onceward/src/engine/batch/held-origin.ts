import type { Received } from '../../message/received.ts'
import type { SuppressedEffect } from '../../ports/campaign-session.ts'
import type { HeldOrigin } from '../../ports/source.ts'
import type { StoreSession } from '../../ports/store-session.ts'
import type { ConsumerContext } from '../consumer-context.ts'

type Part<M, Tx> = readonly [batch: readonly Received<M>[], context: ConsumerContext<M, Tx>]

/**
 * Splits a live worker's batch into stretches with the same mode and campaign, each with its context. They
 * commit one after the other: the next one finds a key that stopped in an earlier one. A campaign on parked
 * rows was approved for these rows, and runs in its own mode.
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

/** The context of the campaign: effects that it may not request stay suppressed. */
function contextOf<M, Tx>(
  { mode, campaignId, effects }: HeldOrigin,
  context: ConsumerContext<M, Tx>,
): ConsumerContext<M, Tx> {
  const suppresses = effects !== 'requested' || context.consumer.replay.effects === 'never'
  return { ...context, mode, suppresses, ...(campaignId !== null && { campaignId }) }
}

/** Records suppressed effects where operators look for those of a campaign. */
export async function noteSuppressed<M, Tx>(
  effects: readonly SuppressedEffect[],
  session: StoreSession<Tx>,
  { campaignId }: ConsumerContext<M, Tx>,
): Promise<void> {
  if (session.campaign !== undefined) session.campaign.journal.suppressed(effects)
  else if (campaignId !== undefined && effects.length > 0)
    await session.held!.noteSuppressed(campaignId, effects)
}

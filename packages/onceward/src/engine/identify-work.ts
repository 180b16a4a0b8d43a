import type { StoreSession } from '../contracts/store.ts'
import type { ReadableMessage, Received } from '../message/received.ts'
import { claimBusinessKeys, claimMarkers } from './claim-batch.ts'
import type { Fact } from './outcome.ts'
import type { Spine } from './process-batch.ts'

/** What became of held messages whose id was read only now. */
export interface IdentifiedWork<M> {
  /** Repeats among themselves, and the first one each depends on. */
  readonly repeats: Map<Received<M>, Received<M>>
  /** Their marker is another's. */
  readonly foreign: ReadonlySet<Received<M>>
  /** Their business key is another's. */
  readonly unkeyed: ReadonlySet<Received<M>>
}

const nothing: ReadonlySet<never> = new Set<never>()

/**
 * A message that was held because no id could be read has no marker. Where today's contract reads one, it is claimed in the transaction of the
 * effect, as from a delivery: an applied duplicate is recognised, and one that comes later finds the marker.
 */
export async function identifyWork<M, Tx>(
  batch: readonly Received<M>[],
  facts: Map<Received<M>, Fact>,
  session: StoreSession<Tx>,
  spine: Spine<M, Tx>,
): Promise<IdentifiedWork<M>> {
  const repeats = new Map<Received<M>, Received<M>>()
  const firstById = new Map<string, Received<M>>()
  if (spine.consumer.dedup === 'marker')
    for (const received of batch) {
      if (!isIdentifiedNow(received)) continue
      const first = firstById.get(received.id!)
      if (first === undefined) firstById.set(received.id!, received)
      else repeats.set(received, first)
    }
  if (firstById.size === 0) return { repeats, foreign: nothing, unkeyed: nothing }
  const firsts = [...firstById.values()]
  // An unreadable one has its fact already, which its marker may overrule.
  const claimed = await claimMarkers(firsts, facts, session, spine)
  const foreign = new Set<Received<M>>([...repeats.keys(), ...firsts.filter(one => !claimed.has(one))])
  const fresh = [...claimed].filter((received): received is ReadableMessage<M> => received.readable)
  const keyed = new Set<Received<M>>()
  const passed = await claimBusinessKeys(fresh, facts, repeats, keyed, session)
  await spine.horizon?.check(passed, facts, session)
  const unkeyed = new Set<Received<M>>([...foreign, ...fresh.filter(one => !keyed.has(one))])
  return { repeats, foreign, unkeyed }
}

/** Held without an id, and read with one. */
export function isIdentifiedNow({ id, delivery }: Received): boolean {
  return delivery.held?.messageId === null && id !== null
}

import type { ReadableMessage, Received } from '../../message/received.ts'
import type { StoreSession } from '../../ports/store.ts'
import type { ConsumerContext } from '../consumer-context.ts'
import { claimBusinessKeys } from './business-keys.ts'
import { claimMarkers } from './claim-batch.ts'
import type { Fact } from './outcome.ts'

/** What became of held messages whose id was read only now, or that waited for their business key. */
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
 * A message that was held because no id could be read has no marker. Where today's contract reads one, it is
 * claimed in the transaction of the effect, as from a delivery: an applied duplicate is recognised, and one
 * that comes later finds the marker.
 */
export async function identifyWork<M, Tx>(
  batch: readonly Received<M>[],
  facts: Map<Received<M>, Fact>,
  session: StoreSession<Tx>,
  context: ConsumerContext<M, Tx>,
): Promise<IdentifiedWork<M>> {
  const repeats = new Map<Received<M>, Received<M>>()
  const firstById = new Map<string, Received<M>>()
  if (context.consumer.dedup === 'marker')
    for (const received of batch) {
      if (!isIdentifiedNow(received)) continue
      const first = firstById.get(received.id!)
      if (first === undefined) firstById.set(received.id!, received)
      else repeats.set(received, first)
    }
  const keyless = batch.filter(isKeyless)
  if (firstById.size === 0 && keyless.length === 0) return { repeats, foreign: nothing, unkeyed: nothing }
  const firsts = [...firstById.values()]
  // An unreadable one has its fact already, which its marker may overrule.
  const claimed = await claimMarkers(firsts, facts, session, context)
  const foreign = new Set<Received<M>>([...repeats.keys(), ...firsts.filter(one => !claimed.has(one))])
  const asking = new Set<Received<M>>([...claimed, ...keyless])
  const fresh = batch.filter((one): one is ReadableMessage<M> => one.readable && asking.has(one))
  const keyed = new Set<Received<M>>()
  const holders = batch.flatMap(one => (one.id === null || asking.has(one) ? [] : [[one.id, one] as const]))
  const passed = await claimBusinessKeys(fresh, { facts, repeats, keyed }, session, context, new Map(holders))
  await context.horizon?.check(
    passed.filter(one => claimed.has(one) && !facts.has(one)),
    facts,
    session,
  )
  const unkeyed = new Set<Received<M>>([...foreign, ...fresh.filter(one => !keyed.has(one))])
  return { repeats, foreign, unkeyed }
}

function isKeyless(received: Received): boolean {
  return (
    received.readable &&
    received.businessKey !== null &&
    received.delivery.held?.keyless === true &&
    !isIdentifiedNow(received)
  )
}

/** Held without an id, and read with one. */
export function isIdentifiedNow({ id, delivery }: Received): boolean {
  return delivery.held?.messageId === null && id !== null
}

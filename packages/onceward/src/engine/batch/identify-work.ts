import type { ReadableMessage, Received } from '../../message/received.ts'
import type { StoreSession } from '../../ports/store-session.ts'
import type { ConsumerContext } from '../consumer-context.ts'
import { insertBusinessKeys } from './business-keys.ts'
import { insertMarkers } from './claim-batch.ts'
import { isIdentifiedNow } from './held-identities.ts'
import type { Fact } from './outcome.ts'

/** Stored messages whose id is read only now, or that waited for their business key. */
export interface IdentifiedWork<M> {
  /** Repeats among them, and the first message each depends on. */
  readonly repeats: Map<Received<M>, Received<M>>
  /** Messages whose marker belongs to another message. */
  readonly foreign: ReadonlySet<Received<M>>
  /** Messages whose business key belongs to another message. */
  readonly unkeyed: ReadonlySet<Received<M>>
}

const nothing: ReadonlySet<never> = new Set<never>()

/**
 * A message stored without a readable id has no marker. If the current contract reads its id, the marker is
 * inserted in the transaction of the effect, as for a delivery. An applied duplicate is then recognised, and
 * a later one finds the marker.
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
  // An unreadable message already has its fact, which its marker may override.
  const claimed = await insertMarkers(firsts, facts, session, context)
  const foreign = new Set<Received<M>>([...repeats.keys(), ...firsts.filter(one => !claimed.has(one))])
  const asking = new Set<Received<M>>([...claimed, ...keyless])
  const fresh = batch.filter((one): one is ReadableMessage<M> => one.readable && asking.has(one))
  const keyed = new Set<Received<M>>()
  const holders = batch.flatMap(one => (one.id === null || asking.has(one) ? [] : [[one.id, one] as const]))
  const passed = await insertBusinessKeys(
    fresh,
    { facts, repeats, keyed },
    session,
    context,
    new Map(holders),
  )
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

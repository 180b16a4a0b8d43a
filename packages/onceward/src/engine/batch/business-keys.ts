import type { ReadableMessage, Received } from '../../message/received.ts'
import type { BusinessKeyAnswer } from '../../ports/business-keys.ts'
import type { HeldKey } from '../../ports/held-record.ts'
import type { MarkerStatus } from '../../ports/markers.ts'
import type { StoreSession } from '../../ports/store-session.ts'
import type { ConsumerContext } from '../consumer-context.ts'
import type { ClaimedBatch } from './claim-batch.ts'
import { isIdentifiedNow } from './held-identities.ts'
import type { Decision, Fact } from './outcome.ts'
import { fullDelayMs, keyIsFull } from './parking-caps.ts'

/** The collections that inserting business keys adds to. */
export interface KeyResults<M> {
  readonly facts: Map<Received<M>, Fact>
  readonly repeats: Map<Received<M>, Received<M>>
  /** Messages that hold their key now. */
  readonly keyed: Set<Received<M>>
}

type Seen = Extract<BusinessKeyAnswer, { kind: 'seen' }>

/**
 * Inserts the business keys of messages that do not hold theirs. Returns the messages that may continue. A
 * message whose key belongs to an unfinished one is included with its fact, because later messages of its
 * lane wait behind it. `beside`: the rest of the batch, each of which holds its key.
 */
export async function insertBusinessKeys<M, Tx>(
  fresh: readonly ReadableMessage<M>[],
  { facts, repeats, keyed }: KeyResults<M>,
  session: StoreSession<Tx>,
  context: ConsumerContext<M, Tx>,
  beside: ReadonlyMap<string, Received<M>> = new Map(),
): Promise<readonly ReadableMessage<M>[]> {
  const firstByKey = new Map<string, ReadableMessage<M>>()
  for (const received of fresh) {
    const key = received.businessKey
    if (key === null) continue
    const first = firstByKey.get(key)
    if (first === undefined) firstByKey.set(key, received)
    else repeats.set(received, first)
  }
  if (firstByKey.size === 0) return fresh
  const firsts = [...firstByKey.values()]
  const answers = await session.businessKeys!.insert(
    firsts.map(({ businessKey, businessDigest, id }) => ({ key: businessKey!, digest: businessDigest, id })),
  )
  for (const [index, answer] of answers.entries()) {
    const received = firsts[index]!
    if (answer.kind === 'first' || isOwn(received, answer)) keyed.add(received)
    else if (beside.has(answer.byId)) repeats.set(received, beside.get(answer.byId)!)
    else {
      const fact = await factOf(received, answer, session, context)
      if (fact !== null) facts.set(received, fact)
    }
  }
  return fresh.filter(received => !repeats.has(received) && !isDecided(facts.get(received)))
}

/** The message waited for the key, and has received it meanwhile. */
function isOwn(received: ReadableMessage, { byId }: Seen): boolean {
  return byId === received.id && received.delivery.held?.keyless === true && !isIdentifiedNow(received)
}

/** For unreadable bytes, the worker that decodes them determines the key. */
export function heldKeyOf<M>(received: Received<M>, { keyed }: Pick<ClaimedBatch<M>, 'keyed'>): HeldKey {
  if (!received.readable) return { businessKey: null, businessDigest: null, keyless: true }
  const { businessKey, businessDigest } = received
  return { businessKey, businessDigest, keyless: businessKey !== null && !keyed.has(received) }
}

/** True if the message neither waits nor runs. */
export function isDecided(fact: Fact | undefined): boolean {
  return fact !== undefined && fact.kind !== 'key held'
}

/** Null if the message is stored anyway: the worker inserts the key. */
async function factOf<M, Tx>(
  received: ReadableMessage<M>,
  { byId, status, sameDigest, waiting }: Seen,
  session: StoreSession<Tx>,
  context: ConsumerContext<M, Tx>,
): Promise<Fact | null> {
  const holder = status === null ? null : holderState(status)
  if (holder === null) return { kind: 'business seen', byId, sameDigest }
  if (holder === 'stored' && context.stage === 'enqueue') return null
  const full = await keyIsFull(waiting, holder === 'parked', session, context)
  return full
    ? { kind: 'key held', byId, as: 'retry', delayMs: fullDelayMs, inTurn: true }
    : behindHolder(received, byId, holder, context)
}

/**
 * The state of an unfinished key holder: with a worker, waiting for its version, or waiting for an operator.
 */
export type Holder = 'stored' | 'waiting' | 'parked'

/** Null if the holder is finished: its effect used the key. */
function holderState(status: MarkerStatus): Holder | null {
  if (status === 'stored' || status === 'waiting') return status
  return status === 'parked' || status === 'dead' || status === 'quarantined' ? 'parked' : null
}

/** The same for a holder in this batch, from its decision. Null if it released the key, or never had it. */
export function holderOf({ outcome, blocksKey }: Decision): Holder | 'used' | null {
  if (outcome === 'applied' || outcome === 'duplicate') return 'used'
  if (outcome === 'stored' || outcome === 'deferred') return 'stored'
  if (outcome === 'waiting') return 'waiting'
  return outcome === 'parked' || (outcome === 'quarantined' && blocksKey) ? 'parked' : null
}

/**
 * The end of a holder makes the messages that wait for it due. A message stored at that very moment is
 * missed, and checks again after this time.
 */
const askAgainMs = 5_000

/**
 * The message waits in the store: parked behind a parked holder, otherwise until a worker checks again. A
 * message that a worker has stays where it is. Two cases block no order key. Behind a holder that waits for
 * its version, that version may arrive later under the same order key. And the holder may have arrived after
 * a row that got its id only now.
 */
export function behindHolder<M, Tx>(
  received: Received<M>,
  byId: string,
  holder: Holder,
  { consumer, stage, store }: ConsumerContext<M, Tx>,
): Fact {
  const ordered = consumer.order === 'key'
  const inTurn = ordered && holder !== 'waiting' && !isIdentifiedNow(received)
  if (holder === 'parked') return { kind: 'key held', byId, as: 'parked', delayMs: 0, inTurn }
  const stays = store.work === undefined || (stage === 'work' && (inTurn || !ordered))
  return { kind: 'key held', byId, as: stays ? 'retry' : 'deferred', delayMs: askAgainMs, inTurn }
}

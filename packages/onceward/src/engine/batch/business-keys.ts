import type { ReadableMessage, Received } from '../../message/received.ts'
import type { BusinessKeyAnswer, HeldKey, MarkerStatus, StoreSession } from '../../ports/store.ts'
import type { ConsumerContext } from '../consumer-context.ts'
import type { Claims } from './claim-batch.ts'
import { isIdentifiedNow } from './identify-work.ts'
import type { Decision, Fact } from './outcome.ts'
import { fullDelayMs, keyIsFull } from './parking-caps.ts'

/** What claiming business keys adds to. */
export interface KeyClaims<M> {
  readonly facts: Map<Received<M>, Fact>
  readonly repeats: Map<Received<M>, Received<M>>
  /** Those that hold their key now. */
  readonly keyed: Set<Received<M>>
}

type Seen = Extract<BusinessKeyAnswer, { kind: 'seen' }>

/**
 * Claims the business keys of messages that do not hold theirs. Answers with those that may go on: a message
 * whose key is held by one that is not done is among them with its fact, because later ones of its lane wait
 * behind it. `beside`: the rest of the batch, of which each holds its key.
 */
export async function claimBusinessKeys<M, Tx>(
  fresh: readonly ReadableMessage<M>[],
  { facts, repeats, keyed }: KeyClaims<M>,
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
  return fresh.filter(received => !repeats.has(received) && !isSettled(facts.get(received)))
}

/** It waited for the key, which came to it meanwhile. */
function isOwn(received: ReadableMessage, { byId }: Seen): boolean {
  return byId === received.id && received.delivery.held?.keyless === true && !isIdentifiedNow(received)
}

/** Of unreadable bytes the worker that decodes them determines the key. */
export function heldKeyOf<M>(received: Received<M>, { keyed }: Pick<Claims<M>, 'keyed'>): HeldKey {
  if (!received.readable) return { businessKey: null, businessDigest: null, keyless: true }
  const { businessKey, businessDigest } = received
  return { businessKey, businessDigest, keyless: businessKey !== null && !keyed.has(received) }
}

/** There is nothing to be waited for or tried. */
export function isSettled(fact: Fact | undefined): boolean {
  return fact !== undefined && fact.kind !== 'key held'
}

/** Null where it is stored to be worked on anyway: the worker asks for the key. */
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
 * What a message waits for whose key another holds: one that workers have, one that waits for its version, or
 * one that waits for people.
 */
export type Holder = 'stored' | 'waiting' | 'parked'

/** Null when the holder is done: its effect used the key up. */
function holderState(status: MarkerStatus): Holder | null {
  if (status === 'stored' || status === 'waiting') return status
  return status === 'parked' || status === 'dead' || status === 'quarantined' ? 'parked' : null
}

/**
 * The same of a message of the batch, by what was decided. Null when it gave the key back, or never had it.
 */
export function holderOf({ outcome, blocksKey }: Decision): Holder | 'used' | null {
  if (outcome === 'applied' || outcome === 'duplicate') return 'used'
  if (outcome === 'stored' || outcome === 'deferred') return 'stored'
  if (outcome === 'waiting') return 'waiting'
  return outcome === 'parked' || (outcome === 'quarantined' && blocksKey) ? 'parked' : null
}

/**
 * Whoever ends a holder makes those due that wait for it. What was stored in that very moment is missed, and
 * finds out after this long.
 */
const askAgainMs = 5_000

/**
 * It waits in the store: parked behind what is parked, to be asked again by a worker otherwise. What a worker
 * has stays where it is. Behind a holder that waits for its version it holds no order, because the version
 * may come after it under the same order key; nor does a row that got its id only now, because the holder may
 * have come after it.
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

import { formerTombstoneDigest, isTombstone } from '../../message/content-digest.ts'
import type { ReadableMessage, Received, UnreadableMessage } from '../../message/received.ts'
import type { NewMarker } from '../../ports/markers.ts'
import type { StoreSession } from '../../ports/store-session.ts'
import type { ConsumerContext } from '../consumer-context.ts'
import type { BatchAttempt } from './batch-attempt.ts'
import { insertBusinessKeys } from './business-keys.ts'
import { ignoreGivenUp, removeGivenUp } from './given-up.ts'
import { appliedByPosition, type StoredPositions } from './log-fence.ts'
import type { Fact } from './outcome.ts'
import { behindBlocked, releasedKeys } from './parking-caps.ts'
import { keepReceipts, receiptsOf } from './receipts.ts'

/** The result of inserting the markers of a batch. */
export interface ClaimedBatch<M = unknown> {
  /**
   * Messages whose marker this transaction inserted, in order. Their handlers may run, unless a fact says
   * that they wait for their business key.
   */
  readonly fresh: readonly ReadableMessage<M>[]
  /** Facts known from the markers: duplicates, conflicts, unreadable bytes, blocked keys. */
  readonly facts: Map<Received<M>, Fact>
  /** Repeats inside the batch, by id or business key, and the first message each depends on. */
  readonly repeats: Map<Received<M>, Received<M>>
  /** All messages whose marker this transaction inserted, readable or not. */
  readonly claimed: ReadonlySet<Received<M>>
  /** Messages whose business key this transaction inserted. */
  readonly keyed: ReadonlySet<Received<M>>
  /** The stored positions of a log; null unless they had to be read. */
  readonly storedPositions: StoredPositions | null
}

/** An earlier message of the batch, with another id, holds its business key. */
export function waitsForKey<M>(received: Received<M>, repeats: ClaimedBatch<M>['repeats']): boolean {
  const first = repeats.get(received)
  return first !== undefined && first.id !== received.id
}

/**
 * Inserts the markers of every identified message, then the business keys, then reads which order keys are
 * blocked.
 */
export async function claimBatch<M, Tx>(
  attempt: BatchAttempt<M, Tx>,
  session: StoreSession<Tx>,
): Promise<ClaimedBatch<M>> {
  const { batch, context } = attempt
  if (context.consumer.dedup === 'checkpoint') return claimByPosition(attempt, session)
  if (context.consumer.dedup === 'version') return claimByVersion(batch, session, context)
  const facts = new Map<Received<M>, Fact>()
  const repeats = new Map<Received<M>, Received<M>>()
  const firstById = new Map<string, Received<M>>()
  for (const received of await removeGivenUp(batch, facts, session)) {
    if (received.id === null) {
      if (!received.readable) facts.set(received, unreadableFact(received, context))
      continue
    }
    const first = firstById.get(received.id)
    if (first === undefined) firstById.set(received.id, received)
    else repeats.set(received, first)
  }
  const claimed = await insertMarkers([...firstById.values()], facts, session, context)
  const nameless = batch.filter(received => received.id === null)
  const ignored = await ignoreGivenUp([...claimed, ...nameless], facts, session)
  const fresh: ReadableMessage<M>[] = []
  for (const received of claimed) {
    if (ignored.has(received)) continue
    if (received.readable) fresh.push(received)
    else facts.set(received, unreadableFact(received, context))
  }
  const keyed = new Set<Received<M>>()
  const unique = await insertBusinessKeys(fresh, { facts, repeats, keyed }, session, context)
  const passed = await passUnblocked(unique, facts, session, context)
  await context.horizon?.check(passed, facts, session)
  return { fresh: passed, facts, repeats, claimed, keyed, storedPositions: null }
}

/** Writes no markers: every message after the stored position is new. */
async function claimByPosition<M, Tx>(
  attempt: BatchAttempt<M, Tx>,
  session: StoreSession<Tx>,
): Promise<ClaimedBatch<M>> {
  const { batch, context } = attempt
  const storedPositions = await appliedByPosition(attempt, session)
  const facts = new Map<Received<M>, Fact>()
  const fresh: ReadableMessage<M>[] = []
  const isApplied = ({ delivery }: Received<M>) => storedPositions?.applied.has(delivery) === true
  const ignored = await ignoreGivenUp(
    batch.filter(received => !isApplied(received)),
    facts,
    session,
  )
  for (const received of batch) {
    if (isApplied(received)) facts.set(received, { kind: 'seen', status: 'applied', sameDigest: true })
    else if (ignored.has(received)) continue
    else if (received.readable) fresh.push(received)
    else facts.set(received, unreadableFact(received, context))
  }
  await keepReceipts(
    batch.filter(received => !isApplied(received)),
    session,
    context,
  )
  return { fresh, facts, repeats: new Map(), claimed: new Set(), keyed: new Set(), storedPositions }
}

/** Writes no markers: the effect's own version shows for each message whether it is new. */
async function claimByVersion<M, Tx>(
  batch: readonly Received<M>[],
  session: StoreSession<Tx>,
  context: ConsumerContext<M, Tx>,
): Promise<ClaimedBatch<M>> {
  const facts = new Map<Received<M>, Fact>()
  const readable: ReadableMessage<M>[] = []
  const asked = await removeGivenUp(batch, facts, session)
  const ignored = await ignoreGivenUp(asked, facts, session)
  for (const received of asked) {
    if (ignored.has(received)) continue
    if (received.readable) readable.push(received)
    else facts.set(received, unreadableFact(received, context))
  }
  await keepReceipts(asked, session, context)
  const fresh = await passUnblocked(readable, facts, session, context)
  return { fresh, facts, repeats: new Map(), claimed: new Set(), keyed: new Set(), storedPositions: null }
}

/**
 * A schema that did not finish in time is a failed attempt, not a fault of the message. Without an id the
 * attempt cannot be counted. With order, the intake has already used up the attempts.
 */
export function unreadableFact<M, Tx>(
  { id, problem }: UnreadableMessage,
  { consumer }: ConsumerContext<M, Tx>,
): Fact {
  if (problem.kind !== 'unvalidated' || id === null) return { kind: 'unreadable', problem }
  const failureClass = consumer.order === 'none' ? 'transient' : 'poison'
  const failure = { class: failureClass, code: 'validation_timeout', error: problem.text, place: '' } as const
  return { kind: 'failed', failure }
}

export async function insertMarkers<M, Tx>(
  firsts: readonly Received<M>[],
  facts: Map<Received<M>, Fact>,
  session: StoreSession<Tx>,
  context: ConsumerContext<M, Tx>,
): Promise<Set<Received<M>>> {
  const claimed = new Set<Received<M>>()
  if (firsts.length === 0) return claimed
  const receiptOf = receiptsOf(context)
  const markers = firsts.map(received => newMarker(received, receiptOf, context))
  const began = context.env.clock.nowMs()
  const answers = await session.insertMarkers(markers, context.stage === 'enqueue' ? 'stored' : 'applied')
  const seconds = (context.env.clock.nowMs() - began) / 1000
  context.env.metrics.record('insertLatency', seconds, { consumer: context.consumer.name })
  answers.forEach((answer, index) => {
    if (answer.kind === 'first') claimed.add(firsts[index]!)
    else facts.set(firsts[index]!, answer)
  })
  if (context.mode === 'live') await makeLive(claimed.size === firsts.length ? [] : firsts, facts, session)
  return claimed
}

/** Most messages have neither of the optional members. */
function newMarker<M, Tx>(
  received: Received<M>,
  receiptOf: ReturnType<typeof receiptsOf<M, Tx>>,
  { consumer }: ConsumerContext<M, Tx>,
): NewMarker {
  const { delivery } = received
  const marker: NewMarker = { id: received.id!, digest: received.digest, position: delivery.position }
  if (receiptOf === null && !isTombstone(delivery)) return marker
  const { digestHeaders } = consumer.message
  return {
    ...marker,
    ...(isTombstone(delivery) && { formerDigest: formerTombstoneDigest(delivery, digestHeaders) }),
    ...(receiptOf !== null && { receipt: receiptOf(received) }),
  }
}

const heldNow: ReadonlySet<string> = new Set(['stored', 'waiting', 'parked', 'dead', 'quarantined'])

/**
 * A message that a campaign holds becomes live work when the source delivers it. If it stayed the campaign's,
 * its effects would be suppressed permanently.
 */
async function makeLive<M, Tx>(
  firsts: readonly Received<M>[],
  facts: ReadonlyMap<Received<M>, Fact>,
  { held }: StoreSession<Tx>,
): Promise<void> {
  const ids = firsts.flatMap(received => {
    const fact = facts.get(received)
    return fact?.kind === 'seen' && fact.sameDigest && heldNow.has(fact.status) ? received.id! : []
  })
  if (ids.length > 0) await held?.makeLive(ids)
}

async function passUnblocked<M, Tx>(
  fresh: readonly ReadableMessage<M>[],
  facts: Map<Received<M>, Fact>,
  session: StoreSession<Tx>,
  context: ConsumerContext<M, Tx>,
): Promise<readonly ReadableMessage<M>[]> {
  if (context.consumer.order !== 'key' || fresh.length === 0) return fresh
  const keys = [...new Set(fresh.map(received => received.orderKey!))]
  const blocked = await session.keyOrder!.blockedKeys(keys)
  // Read second: one step frees a key and turns its parked messages into work.
  const asked = besideWorkers(context) ? keys : releasedKeys(blocked, context)
  const atWork = asked.length > 0 ? await session.held!.keysAtWork(asked) : none
  if (blocked.size === 0 && atWork.size === 0) return fresh
  const behind = await behindBlocked(blocked, session, context)
  return fresh.filter(received => {
    const key = received.orderKey!
    const fact = behind(key)
    if (fact !== null) facts.set(received, fact)
    else if (atWork.has(key)) facts.set(received, behindWork(atWork.get(key)!, context))
    else return true
    return false
  })
}

const none: ReadonlyMap<string, number> = new Map()

/**
 * With failure mode `defer`, later messages are deferred behind the key; otherwise they are retried shortly.
 */
function behindWork<M, Tx>(dueInMs: number, { consumer }: ConsumerContext<M, Tx>): Fact {
  return consumer.failure.mode === 'defer'
    ? { kind: 'behind', leader: 'deferred', delayMs: dueInMs }
    : { kind: 'behind', leader: 'retry', delayMs: atWorkDelayMs }
}

const atWorkDelayMs = 100

/**
 * True if workers may apply stored messages of the same keys. A campaign may run beside the live consumer's.
 */
function besideWorkers<M, Tx>({ stage, consumer, mode }: ConsumerContext<M, Tx>): boolean {
  if (stage !== 'inline') return false
  return (
    !['live', 'forensic'].includes(mode) ||
    consumer.inbox.mode === 'stored' ||
    consumer.effect?.apply?.mayWait === true ||
    consumer.failure.mode === 'defer'
  )
}

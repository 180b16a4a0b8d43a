import { OncewardError } from '../../errors.ts'
import { storableText } from '../../message/identity.ts'
import type { ReadableMessage, Received } from '../../message/received.ts'
import { toStoredJson } from '../../message/stored-json.ts'
import type { DoneWork, KeptMessage, PutOffWork, TakenWork } from '../../ports/held-work.ts'
import type { StoreSession } from '../../ports/store-session.ts'
import type { ConsumerContext } from '../consumer-context.ts'
import type { Decided } from './batch-attempt.ts'
import { heldKeyOf, holderOf, isDecided } from './business-keys.ts'
import { type ClaimedBatch, unreadableFact, waitsForKey } from './claim-batch.ts'
import { heldIdentities } from './held-identities.ts'
import { identifyWork } from './identify-work.ts'
import { type Decision, type Fact, stopsLane } from './outcome.ts'

const kept: Fact = { kind: 'kept' }

/**
 * Stage `enqueue`: no handler runs. Messages behind one of their lane that is already set aside get no fact,
 * and share its outcome. A repeat by business key is stored if the first message with the key is.
 */
export function keepAll<M>(batch: readonly Received<M>[], claims: ClaimedBatch<M>): Map<Received<M>, Fact> {
  const facts = new Map<Received<M>, Fact>(claims.facts)
  const fresh = new Set<Received<M>>(claims.fresh)
  const stopped = new Set<string>()
  for (const received of batch) {
    const { lane } = received
    const fact = facts.get(received)
    const stops = waitsForKey(received, claims.repeats)
      ? facts.get(claims.repeats.get(received)!) !== kept
      : fact !== undefined && stopsLane(fact)
    if (lane !== null && stops) stopped.add(lane)
    if (fresh.has(received) && fact === undefined && (lane === null || !stopped.has(lane)))
      facts.set(received, kept)
  }
  return facts
}

/**
 * Stores the messages for later with one statement, in order of arrival. Returns them with the leases of our
 * worker.
 */
export async function storeKept<M, Tx>(
  decided: readonly Decided<M>[],
  session: StoreSession<Tx>,
  claims: ClaimedBatch<M>,
  { localHandoff }: ConsumerContext<M, Tx>,
): Promise<readonly Decided<M>[]> {
  const kept = decided.filter(({ decision }) => decision.outcome === 'stored')
  if (kept.length === 0) return decided
  const messages = kept.map(({ received }) => keptMessage(received as ReadableMessage<M>, claims))
  const bytes = messages.reduce((sum, { body }) => sum + body.length, 0)
  const leases = await session.held!.keep(messages, localHandoff?.holderOf(messages.length, bytes) ?? null)
  const indexOf = new Map(kept.map((one, index) => [one, index]))
  return decided.map(one => {
    const index = indexOf.get(one)
    const lease = index === undefined ? null : leases[index]
    return lease ? { ...one, lease, keyless: messages[index!]!.keyless } : one
  })
}

/** A worker reads the identities from the bytes again; those beside them are for operators. */
function keptMessage<M>(received: ReadableMessage<M>, claims: ClaimedBatch<M>): KeptMessage {
  const { id, delivery, digest, orderKey } = received
  return {
    id,
    digest,
    orderKey,
    ...heldKeyOf(received, claims),
    ...heldIdentities(received),
    origin: delivery.origin,
    position: delivery.position,
    brokerKey: storableText(delivery.key, 1_000),
    deliveryCount: delivery.deliveryCount,
    headers: toStoredJson(delivery.headers),
    properties: toStoredJson(delivery.properties),
    body: delivery.body,
  }
}

/**
 * Stage `work`: the markers exist since the messages were stored, or are inserted now. The store confirms
 * that the leases and the turns are still ours.
 */
export async function startWork<M, Tx>(
  batch: readonly Received<M>[],
  session: StoreSession<Tx>,
  context: ConsumerContext<M, Tx>,
): Promise<ClaimedBatch<M>> {
  const facts = new Map<Received<M>, Fact>()
  const readable: ReadableMessage<M>[] = []
  for (const received of batch) {
    if (received.readable) readable.push(received)
    else facts.set(received, unreadableFact(received, context))
  }
  const before = await session.held!.confirmLeases(takenWork(batch, context))
  const { repeats, foreign, unkeyed } = await identifyWork(batch, facts, session, context)
  const fresh = readable.filter(received => {
    if (isDecided(facts.get(received)) || repeats.has(received)) return false
    const leader = queues(received) ? before.get(received.orderKey!) : undefined
    if (leader === undefined) return true
    facts.set(received, { kind: 'behind', leader: leader === 'parked' ? 'parked' : 'retry', delayMs: 0 })
    return false
  })
  const claimed = new Set(batch.filter(received => !foreign.has(received)))
  const keyed = new Set(readable.filter(received => received.businessKey !== null && !unkeyed.has(received)))
  return { fresh, facts, repeats, claimed, keyed, storedPositions: null }
}

function takenWork<M, Tx>(
  batch: readonly Received<M>[],
  { suppresses }: Pick<ConsumerContext<M, Tx>, 'suppresses'>,
): TakenWork[] {
  const heads = new Set<string>()
  return batch.map(received => {
    const { row, epoch, cameFrom } = received.delivery.held!
    const asks = !suppresses && cameFrom !== undefined && cameFrom.campaignId !== null
    const key = received.readable && queues(received) ? received.orderKey : null
    if (key === null || heads.has(key)) return { row, epoch, asks, headOf: null }
    heads.add(key)
    return { row, epoch, asks, headOf: key }
  })
}

/** A message that waited for a version has its own order; all others of a key take turns. */
function queues({ orderKey, delivery }: ReadableMessage): boolean {
  return orderKey !== null && delivery.held!.waited === null
}

/** The fence: a worker that lost a lease commits nothing. */
export async function finishWork<M, Tx>(
  decided: readonly Decided<M>[],
  session: StoreSession<Tx>,
): Promise<void> {
  const done: DoneWork[] = []
  const again: PutOffWork[] = []
  for (const { received, decision } of decided) {
    const { row, epoch } = received.delivery.held!
    if (decision.outcome !== 'retry') done.push({ row, epoch, key: endOfKey(received, decision) })
    else {
      const { attempts, failureClass, error } = decision
      const reason = storableText(decision.reason, 2_000) ?? ''
      const code = storableText(decision.code, 100) ?? ''
      again.push({ row, epoch, delayMs: decision.retryDelayMs, attempts, reason, failureClass, code, error })
    }
  }
  await session.held!.finish(done, again)
}

function endOfKey(received: Received, decision: Decision): DoneWork['key'] {
  if (!received.readable) return 'unread'
  return holderOf(decision) === 'used' ? 'used' : null
}

/** The rows that a fence named, or null if the error is not a fence's. */
export function lostLeases(error: unknown): readonly string[] | null {
  return error instanceof OncewardError && error.code === 'lease_lost'
    ? (error.details.rows as readonly string[])
    : null
}

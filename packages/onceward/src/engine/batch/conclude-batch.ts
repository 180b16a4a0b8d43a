import { storableText } from '../../message/identity.ts'
import type { Received } from '../../message/received.ts'
import { toStoredJson } from '../../message/stored-json.ts'
import type { AttemptCount, AttemptRecord, Conclusion } from '../../ports/conclusion.ts'
import type { HeldRecord, HeldState } from '../../ports/held-record.ts'
import type { MarkerStatus } from '../../ports/markers.ts'
import type { StoreSession } from '../../ports/store-session.ts'
import { type ConsumerContext, firstTries } from '../consumer-context.ts'
import { decideWithBrokerRetry } from '../retry/decide-with-broker-retry.ts'
import { DecidedHalt } from '../retry/halt-cause.ts'
import { writeRetryCopies } from '../retry/write-retry-copies.ts'
import type { BatchAttempt, Decided } from './batch-attempt.ts'
import { heldKeyOf, holderOf } from './business-keys.ts'
import type { ClaimedBatch } from './claim-batch.ts'
import { decideInOrder, takesPlace } from './decide-in-order.ts'
import { appliedDecision, countsAsAttempt, noAttempts, storedDecision } from './decide-outcome.ts'
import { heldIdentities, isIdentifiedNow } from './held-identities.ts'
import { type Decision, type Fact, redeliveredCode } from './outcome.ts'
import { capParking } from './parking-caps.ts'
import { finishWork, storeKept } from './stored-mode.ts'

/** Decides every message of the batch, and writes all outcomes other than applied in the same transaction. */
export async function concludeBatch<M, Tx>(
  { batch, context }: BatchAttempt<M, Tx>,
  claims: ClaimedBatch<M>,
  facts: Map<Received<M>, Fact>,
  session: StoreSession<Tx>,
): Promise<readonly Decided<M>[]> {
  const alike = facts.size === batch.length ? sharedDecision(facts) : null
  let decided: readonly Decided<M>[] =
    alike === null
      ? await decideEach(batch, claims, facts, session, context)
      : batch.map(received => ({ received, decision: alike }))
  if (context.stage === 'work') {
    await finishWork(decided, session)
    context.env.reach('work.finished')
  }
  if (context.stage === 'enqueue') decided = await storeKept(decided, session, claims, context)
  if (alike !== null) return decided
  await writeRetryCopies(decided, session, context)
  const conclusions = new Map<Conclusion, Received<M>>()
  for (const { received, decision } of decided) {
    // Its marker already records this outcome.
    if (decision === appliedDecision) continue
    if (decision.outcome === 'halted') throw halted(received, decision, context)
    const conclusion = conclusionOf(received, decision, claims, context)
    if (conclusion !== null) conclusions.set(conclusion, received)
  }
  if (conclusions.size === 0) return decided
  const copied = await session.conclude([...conclusions.keys()])
  if (!copied?.size) return decided
  const letters = new Set([...copied].map(conclusion => conclusions.get(conclusion)))
  return decided.map(one => (letters.has(one.received) ? { ...one, copied: true } : one))
}

async function decideEach<M, Tx>(
  batch: readonly Received<M>[],
  claims: ClaimedBatch<M>,
  facts: Map<Received<M>, Fact>,
  session: StoreSession<Tx>,
  context: ConsumerContext<M, Tx>,
): Promise<readonly Decided<M>[]> {
  const outageMs = context.breaker.outageMs(facts, firstTries(context))
  const outageOf = (received: Received<M>, fact: Fact) =>
    outageMs ?? context.breaker.databaseOutageMs(received, fact)
  const probes = context.brakes.failedProbes(facts)
  const counted = await countAttempts(facts, outageOf, probes, session, context)
  const decisions = new Map<Received<M>, Decision>()
  const decide = (received: Received<M>, fact: Fact, brakedMs = probes.get(received) ?? null) => {
    const random = context.env.random()
    const known = counted.get(received) ?? noAttempts
    const attempt = { ...known, random, outageMs: outageOf(received, fact), brakedMs }
    decisions.set(received, decideWithBrokerRetry(received, fact, attempt, context))
  }
  for (const [received, fact] of facts)
    if (fact.kind === 'handled') decisions.set(received, appliedDecision)
    else decide(received, fact)
  for (const [received, brakedMs] of context.brakes.overrule(decisions))
    decide(received as Received<M>, facts.get(received as Received<M>)!, brakedMs)
  // First: what would be parked at the limit is retried, and later messages of its lane wait behind it.
  await capParking(decisions, session, context)
  decideInOrder(batch, claims, decisions, decide, context)
  return batch.map(received => ({ received, decision: decisions.get(received)! }))
}

/** The decision of a healthy batch, in which all messages share one: nothing to count, nothing to decide. */
function sharedDecision<M>(facts: ReadonlyMap<Received<M>, Fact>): Decision | null {
  const kinds = new Set<Fact['kind']>()
  for (const { kind } of facts.values()) kinds.add(kind)
  if (kinds.size !== 1) return null
  return kinds.has('handled') ? appliedDecision : kinds.has('kept') ? storedDecision : null
}

async function countAttempts<M, Tx>(
  facts: ReadonlyMap<Received<M>, Fact>,
  outageOf: (received: Received<M>, fact: Fact) => number | null,
  probes: ReadonlyMap<Received, number>,
  session: StoreSession<Tx>,
  { consumer }: ConsumerContext<M, Tx>,
): Promise<ReadonlyMap<Received<M>, AttemptCount>> {
  const counted = new Map<Received<M>, AttemptCount>()
  const failed: Received<M>[] = []
  const records: AttemptRecord[] = []
  for (const [received, fact] of facts) {
    if (received.id === null || probes.has(received)) continue
    if (!countsAsAttempt(fact, consumer.failure, outageOf(received, fact))) continue
    failed.push(received)
    records.push(attemptRecord(received.id, fact))
  }
  if (failed.length === 0) return counted
  const totals = await session.countAttempts(records)
  for (const [index, received] of failed.entries()) counted.set(received, totals[index]!)
  return counted
}

function attemptRecord(id: string, fact: Fact): AttemptRecord {
  if (fact.kind === 'failed') {
    const { class: failureClass, code, error, place } = fact.failure
    return { id, failureClass, code, error, place }
  }
  if (fact.kind === 'unreadable') {
    const { kind, text } = fact.problem
    const failureClass = kind === 'invalid' ? 'validation' : 'poison'
    return {
      id,
      failureClass,
      code: kind.replaceAll(' ', '_'),
      error: storableText(text, 2_000) ?? '',
      place: '',
    }
  }
  if (fact.kind === 'redelivered') {
    const error = `delivered ${fact.count + 1} times`
    return { id, failureClass: 'poison', code: redeliveredCode, error, place: '' }
  }
  const { reason, code } = fact.kind === 'verdict' ? fact.verdict : { reason: '', code: 'retry' }
  return { id, failureClass: 'verdict', code, error: storableText(reason, 2_000) ?? '', place: '' }
}

function conclusionOf<M, Tx>(
  received: Received<M>,
  decision: Decision,
  claims: ClaimedBatch<M>,
  context: ConsumerContext<M, Tx>,
): Conclusion | null {
  const { id, digest } = received
  const claimed = claims.claimed.has(received)
  // Only an effect that happened or may still happen keeps its business key.
  const frees = received.readable && claims.keyed.has(received) && holderOf(decision) === null
  const businessKey = frees ? received.businessKey : null
  if (decision.outcome === 'stored') return null
  if (decision.outcome === 'retry' || decision.outcome === 'rerouted') {
    // Its marker exists since it was stored, unless this batch inserted it.
    if (context.stage === 'work' && !isIdentifiedNow(received)) return null
    return claimed ? { id, digest, to: 'retry', claimed, businessKey, held: null } : null
  }
  if (decision.status === null) return null
  const held = heldRecord(received, decision, claims, context)
  if (held === null && !claimed) return null
  const because = held === null && decision.status !== 'applied' ? reasonText(decision) : null
  return { id, digest, to: decision.status, claimed, businessKey, because, held }
}

/** Shortened, because it is kept beside the marker for as long as the marker. */
function reasonText({ code, reason }: Decision): string | null {
  const text = [code, reason].filter(part => part !== '').join(': ')
  return text === '' ? null : storableText(text, 200)
}

/** It released its business key: a redrive inserts the key again first. */
function isSetAside(status: HeldState): boolean {
  return status === 'dead' || status === 'quarantined'
}

function isHeldState(status: MarkerStatus): status is HeldState {
  return ['stored', 'waiting', 'parked', 'dead', 'quarantined'].includes(status)
}

function heldRecord<M, Tx>(
  received: Received<M>,
  decision: Decision,
  claims: ClaimedBatch<M>,
  context: ConsumerContext<M, Tx>,
): HeldRecord | null {
  const { status, waits } = decision
  if (status === null || !isHeldState(status)) return null
  const { delivery } = received
  const envelope = received.readable ? received.envelope : null
  const heldKey = heldKeyOf(received, claims)
  const ordered = context.consumer.order === 'key'
  return {
    state: status,
    was: delivery.held ?? null,
    reason: storableText(decision.reason, 2_000) ?? '',
    failureClass: decision.failureClass,
    code: storableText(decision.code, 100) ?? '',
    error: decision.error,
    exception: storableText(decision.exception ?? null, 100) || null,
    place: storableText(decision.place, 200) ?? '',
    orderKey: waits?.key ?? (ordered && takesPlace(decision) ? (envelope?.orderKey ?? null) : null),
    version: waits?.version ?? null,
    dueInMs: waits?.withinMs ?? (decision.outcome === 'deferred' ? decision.retryDelayMs : null),
    attempts: Math.max(decision.attempts, delivery.held?.attempts ?? 0),
    copied: isSetAside(status) || decision.exhausted !== null,
    body: delivery.body,
    headers: toStoredJson(delivery.headers),
    properties: toStoredJson(delivery.properties),
    origin: delivery.origin,
    position: delivery.position,
    brokerKey: storableText(delivery.key, 1_000),
    deliveryCount: delivery.deliveryCount,
    ...heldKey,
    keyless: heldKey.keyless && !(isSetAside(status) && received.readable),
    ...heldIdentities(received),
  }
}

function halted<M, Tx>(
  received: Received<M>,
  decision: Decision,
  context: ConsumerContext<M, Tx>,
): DecidedHalt {
  return new DecidedHalt(
    `Consumer ${context.consumer.name} halted on a ${decision.failureClass} failure (${decision.code}): ${decision.reason}\nNothing was settled and nothing is lost: the broker still has message ${received.id ?? 'without id'} and all after it. Fix the cause and start again.`,
    { details: { code: decision.code, messageId: received.id } },
  )
}

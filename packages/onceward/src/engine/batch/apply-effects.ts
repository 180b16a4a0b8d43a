import type { ReadableMessage, Received } from '../../message/received.ts'
import type { StoreSession } from '../../ports/store-session.ts'
import type { ConsumerContext } from '../consumer-context.ts'
import type { BatchAttempt } from './batch-attempt.ts'
import { flushEffects, type Requested } from './buffer-effects.ts'
import { flushEvidence } from './buffer-evidence.ts'
import { flushMessages } from './buffer-messages.ts'
import { type ClaimedBatch, waitsForKey } from './claim-batch.ts'
import { type Deadline, handlerDeadline } from './handler-deadline.ts'
import { noteSuppressed } from './held-origin.ts'
import { type Fact, stopsLane } from './outcome.ts'
import { runAfter } from './run-after.ts'
import { runEach } from './run-each.ts'
import { runTogether } from './run-together.ts'

/** Runs the handlers of new messages on the open transaction, and writes the effects they requested. */
export async function applyEffects<M, Tx>(
  { batch, known, context }: BatchAttempt<M, Tx>,
  claims: ClaimedBatch<M>,
  session: StoreSession<Tx>,
): Promise<Map<Received<M>, Fact>> {
  const facts = new Map<Received<M>, Fact>(claims.facts)
  for (const received of claims.fresh) {
    const fact = known.get(received)
    if (fact !== undefined) facts.set(received, fact)
  }
  context.brakes.holdBack(claims.fresh, facts, () => new Set(dueMessages(batch, claims, facts)))
  const due = dueMessages(batch, claims, facts)
  if (due.length > 0) await runDue(due, facts, session, context)
  if (known.size > 0) putBehind(batch, claims, known, facts)
  return facts
}

async function runDue<M, Tx>(
  due: readonly ReadableMessage<M>[],
  facts: Map<Received<M>, Fact>,
  session: StoreSession<Tx>,
  context: ConsumerContext<M, Tx>,
): Promise<void> {
  const { env, consumer } = context
  const began = env.clock.nowMs()
  const callSeconds: number[] = []
  const requested: Requested<M> = { intents: [], messages: [], calls: [], evidence: [] }
  const deadline = handlerDeadline(due, context)
  try {
    try {
      if (consumer.handleBatch === undefined)
        await runEach(due, facts, requested, session, context, deadline, callSeconds)
      else {
        const applied = await runTogether(due, facts, requested, session, context, deadline)
        if (applied.length > 0) await runAfter(applied, facts, { requested, session, context, deadline })
      }
    } finally {
      if (consumer.handleBatch !== undefined) callSeconds.push((env.clock.nowMs() - began) / 1_000)
      env.metrics.recordEach('applyLatency', callSeconds, { consumer: consumer.name })
    }
    await flush(requested, facts, session, context, deadline)
  } finally {
    deadline.cancel()
  }
}

/** Writes what the handlers requested. The deadline is for encoders that are still at work. */
async function flush<M, Tx>(
  requested: Requested<M>,
  facts: Map<Received<M>, Fact>,
  session: StoreSession<Tx>,
  context: ConsumerContext<M, Tx>,
  deadline: Deadline,
): Promise<void> {
  if (requested.intents.length > 0) await flushEffects(requested, facts, session, context)
  if (requested.calls.length > 0)
    await noteSuppressed(
      requested.calls.map(({ intent }) => ({ kind: 'call', ...intent })),
      session,
      context,
    )
  if (requested.evidence.length > 0) await flushEvidence(requested.evidence, facts, session)
  if (requested.messages.length > 0)
    await flushMessages(requested.messages, facts, session, context, deadline)
}

/**
 * A fact from an earlier round counts only while all earlier messages of the lane succeed. If one of them
 * fails now, the message waits behind it. Otherwise the later message would be set aside first, and the
 * earlier one parked behind it.
 */
function putBehind<M>(
  batch: readonly Received<M>[],
  { fresh, repeats }: Pick<ClaimedBatch<M>, 'fresh' | 'repeats'>,
  known: BatchAttempt['known'],
  facts: Map<Received<M>, Fact>,
): void {
  const ran = new Set<Received<M>>(fresh)
  const stopped = new Set<string>()
  for (const received of batch) {
    const { lane } = received
    if (lane === null) continue
    const fact = facts.get(received)
    if (waitsForKey(received, repeats)) stopped.add(lane)
    else if (!ran.has(received)) continue
    else if (stopped.has(lane)) {
      if (known.has(received)) facts.delete(received)
    } else if (fact === undefined || fact.kind === 'behind' || stopsLane(fact)) stopped.add(lane)
  }
}

/**
 * New messages without a fact whose lane is not stopped. A lane stops at a message that did not succeed, or
 * that waits for another message with its business key.
 */
function dueMessages<M>(
  batch: readonly Received<M>[],
  { fresh, repeats }: Pick<ClaimedBatch<M>, 'fresh' | 'repeats'>,
  facts: ReadonlyMap<Received<M>, Fact>,
): readonly ReadableMessage<M>[] {
  if (facts.size === 0 && repeats.size === 0) return fresh
  const mayRun = new Set<Received<M>>(fresh)
  const stopped = new Set<string>()
  return batch.filter((received): received is ReadableMessage<M> => {
    const { lane } = received
    const fact = facts.get(received)
    const stops = waitsForKey(received, repeats) || (fact !== undefined && stopsLane(fact))
    if (lane !== null && stops) stopped.add(lane)
    return mayRun.has(received) && fact === undefined && (lane === null || !stopped.has(lane))
  })
}

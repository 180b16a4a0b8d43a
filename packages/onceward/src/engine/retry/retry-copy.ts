import type { SourceDeclaration } from '../../contract/contract.ts'
import type { Received } from '../../message/received.ts'
import { retryCopy } from '../../ports/retry-copy.ts'
import { byBroker } from '../../ports/retry-levels.ts'
import type { Outgoing, StoreSession } from '../../ports/store.ts'
import { fitsOnWire } from '../../ports/wire-size.ts'
import type { Decided } from '../batch/batch-attempt.ts'
import { type AttemptFacts, decideOutcome, type FailurePolicy } from '../batch/decide-outcome.ts'
import type { Decision, Fact } from '../batch/outcome.ts'
import type { ConsumerContext } from '../consumer-context.ts'

/**
 * Writes the copies that return after their delay, in the transaction that counts the attempt. A relay
 * publishes them after the commit. The delivery may then be settled, because either the row or the broker has
 * the message; an unavailable relay only lengthens the delay. Publishing from here would make the batch wait
 * for the broker's confirms, and a rolled-back count would already have sent its copy.
 */
export async function writeRetryCopies<M, Tx>(
  decided: readonly Decided<M>[],
  session: StoreSession<Tx>,
  { consumer }: ConsumerContext<M, Tx>,
): Promise<void> {
  const rerouted = decided.filter(({ decision }) => decision.outcome === 'rerouted')
  if (rerouted.length === 0) return
  await session.outgoing!.publish(
    rerouted.map(({ received, decision }) => copyOf(received, consumer.source, decision.retryDelayMs)!),
  )
}

/**
 * Decides the outcome of a failed message that may wait at the broker. Campaigns and redriven messages wait
 * where they are. A message that does not fit its retry level is deferred in the store.
 */
export function decideWithBrokerRetry<M, Tx>(
  received: Received<M>,
  fact: Fact,
  attempt: AttemptFacts,
  context: ConsumerContext<M, Tx>,
): Decision {
  const { consumer, mode, stage } = context
  const { failure } = consumer
  if (!byBroker(failure.mode) || (fact.kind !== 'failed' && fact.kind !== 'verdict'))
    return decideOutcome(fact, attempt, failure)
  if (mode !== 'live' || stage !== 'inline')
    return decideOutcome(fact, attempt, { ...failure, mode: 'block' })
  const decision = decideOutcome(fact, attempt, failure)
  const fits = decision.outcome !== 'rerouted' || fitsLevel(received, decision.retryDelayMs, context)
  return fits ? decision : decideOutcome(fact, attempt, keeping(received, context))
}

function fitsLevel<M, Tx>(
  received: Received<M>,
  levelMs: number,
  { consumer, enrolment }: ConsumerContext<M, Tx>,
): boolean {
  const copy = copyOf(received, consumer.source, levelMs)
  return copy !== null && fitsOnWire(copy.broker, copy, enrolment.facts.topicLimits)
}

function keeping<M, Tx>({ id }: Received<M>, { consumer, store }: ConsumerContext<M, Tx>): FailurePolicy {
  return { ...consumer.failure, mode: store.work === undefined || id === null ? 'block' : 'defer' }
}

function copyOf({ id, delivery }: Received, source: SourceDeclaration, levelMs: number): Outgoing | null {
  const { kind, queue, topic } = source as SourceDeclaration & { queue?: string; topic?: string }
  if (id === null) return null
  return retryCopy(id, delivery, kind === 'rabbitmq' ? kind : 'kafka', queue ?? topic!, levelMs)
}

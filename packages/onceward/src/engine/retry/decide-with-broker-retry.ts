import type { Received } from '../../message/received.ts'
import { byBroker } from '../../ports/retry-levels.ts'
import { fitsOnWire } from '../../ports/wire-size.ts'
import { type AttemptFacts, decideOutcome, type FailurePolicy } from '../batch/decide-outcome.ts'
import type { Decision, Fact } from '../batch/outcome.ts'
import type { ConsumerContext } from '../consumer-context.ts'
import { copyOf } from './write-retry-copies.ts'

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

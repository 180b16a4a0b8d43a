import type { SourceDeclaration } from '../../contract/contract.ts'
import { bareCopy, bareMap } from '../../message/bare-map.ts'
import type { Received } from '../../message/received.ts'
import { fromStoredJson, toStoredJson } from '../../message/stored-json.ts'
import { byBroker, countHeaders, deathHeaders, levelQueue, retryHeader } from '../../ports/retry-levels.ts'
import type { Delivery } from '../../ports/source.ts'
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
export async function sendRound<M, Tx>(
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
export function decideTravel<M, Tx>(
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
  const travels = decision.outcome !== 'rerouted' || fitsLevel(received, decision.retryDelayMs, context)
  return travels ? decision : decideOutcome(fact, attempt, keeping(received, context))
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

/** Null if the message cannot be copied. The relay sets the message id; the table has everything else. */
export function copyOf(
  { id, delivery }: Received,
  source: SourceDeclaration,
  levelMs: number,
): Outgoing | null {
  if (id === null) return null
  const kept = fromStoredJson(toStoredJson(delivery.headers))
  if ('$unstorable' in kept) return null
  const queue = queueOf(source)
  const ours = source.kind === 'rabbitmq' ? forRabbit(delivery, queue, kept) : forKafka(delivery, queue, kept)
  const name = { exchange: null, queue: levelQueue(queue, levelMs), messageId: id }
  return { ...name, ...ours, body: delivery.body }
}

type OfBroker = Pick<Outgoing, 'broker' | 'key' | 'headers' | 'properties'>

/** The headers stay visible, except those the broker writes. */
function forRabbit({ key, properties }: Delivery, queue: string, kept: Record<string, unknown>): OfBroker {
  const was = bareMap()
  for (const name of deathHeaders) if (name in kept) was[name] = kept[name]
  for (const name of [...deathHeaders, ...countHeaders]) delete kept[name]
  const table = { queue, key, properties, was }
  const headers = toStoredJson(bareCopy(kept, { [retryHeader]: table }))
  return { broker: 'rabbitmq', key: null, headers, properties: toStoredJson(properties) }
}

/** On Kafka, properties are headers and a publisher adds some: the table records which ones were there. */
function forKafka(delivery: Delivery, queue: string, headers: Record<string, unknown>): OfBroker {
  const { key, properties, origin, position } = delivery
  const table = toStoredJson({ queue, key, properties, origin, position, headers })
  const tombstone = properties.tombstone === true ? { tombstone: true } : {}
  return {
    broker: 'kafka',
    key,
    headers: toStoredJson({ [retryHeader]: table }),
    properties: toStoredJson(tombstone),
  }
}

function queueOf(source: SourceDeclaration): string {
  const { queue, topic } = source as SourceDeclaration & { queue?: string; topic?: string }
  return queue ?? topic!
}

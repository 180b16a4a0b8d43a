import type { SourceDeclaration } from '../contract/contract.ts'
import { countHeaders, deathHeaders, levelQueue, retryHeader } from '../contracts/retry-levels.ts'
import type { Outgoing, StoreSession } from '../contracts/store.ts'
import type { Received } from '../message/received.ts'
import { fromStoredJson, toStoredJson } from '../stored-json.ts'
import type { FailurePolicy } from './decide-outcome.ts'
import type { Fact } from './outcome.ts'
import type { Decided, Spine } from './process-batch.ts'

/** With our own table beside them, headers of this size still fit into one frame of AMQP. */
const headerBytesMax = 48 * 1024

/**
 * The copies that will come back after their delay, written with the attempts they follow and published by a relay after the commit. So the
 * delivery may be settled: whatever dies, the row or the broker has the message, and a relay that is away only makes the delay longer.
 * Publishing from here instead would hold the batch for the broker's confirms, and a count that rolled back would have sent its copy all the same.
 */
export async function sendRound<M, Tx>(
  decided: readonly Decided<M>[],
  session: StoreSession<Tx>,
  { consumer }: Spine<M, Tx>,
): Promise<void> {
  const rerouted = decided.filter(({ decision }) => decision.outcome === 'rerouted')
  if (rerouted.length === 0) return
  await session.publish(
    rerouted.map(
      ({ received, decision }) => copyOf(received, queueOf(consumer.source), decision.retryDelayMs)!,
    ),
  )
}

/** Replays and work that was parked wait where they are, and so does what cannot be written down as it is. */
export function policyFor<M, Tx>(
  received: Received<M>,
  fact: Fact,
  { consumer, mode, stage }: Spine<M, Tx>,
): FailurePolicy {
  const { failure } = consumer
  if (failure.mode !== 'retry queue' || (fact.kind !== 'failed' && fact.kind !== 'verdict')) return failure
  const travels = mode === 'live' && stage === 'whole' && copyOf(received, '', 0) !== null
  return travels ? failure : { ...failure, mode: 'block' }
}

/** Null where the headers cannot be carried. The message id is the relay's; the message's own properties are in the table. */
export function copyOf({ id, delivery }: Received, queue: string, levelMs: number): Outgoing | null {
  const { body, key } = delivery
  const [headers, properties] = [toStoredJson(delivery.headers), toStoredJson(delivery.properties)]
  const kept = fromStoredJson(headers)
  if (id === null || Buffer.byteLength(headers) > headerBytesMax || '$unstorable' in kept) return null
  const was: Record<string, unknown> = {}
  for (const name of deathHeaders) if (name in kept) was[name] = kept[name]
  for (const name of [...deathHeaders, ...countHeaders]) delete kept[name]
  const table = { queue, key, properties: fromStoredJson(properties), was }
  return {
    broker: 'rabbitmq',
    exchange: null,
    queue: levelQueue(queue, levelMs),
    messageId: id,
    key: null,
    headers: toStoredJson({ ...kept, [retryHeader]: table }),
    properties,
    body,
  }
}

function queueOf(source: SourceDeclaration): string {
  return (source as SourceDeclaration & { queue: string }).queue
}

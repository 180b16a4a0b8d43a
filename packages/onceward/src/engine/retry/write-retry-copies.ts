import type { SourceDeclaration } from '../../contract/contract.ts'
import type { Received } from '../../message/received.ts'
import type { Outgoing } from '../../ports/outgoing.ts'
import { retryCopy } from '../../ports/retry-copy.ts'
import type { StoreSession } from '../../ports/store-session.ts'
import type { Decided } from '../batch/batch-attempt.ts'
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

/** Null for a message without an id: its copy could not be recognised. */
export function copyOf(
  { id, delivery }: Received,
  source: SourceDeclaration,
  levelMs: number,
): Outgoing | null {
  const { kind, queue, topic } = source as SourceDeclaration & { queue?: string; topic?: string }
  if (id === null) return null
  return retryCopy(id, delivery, kind === 'rabbitmq' ? kind : 'kafka', queue ?? topic!, levelMs)
}

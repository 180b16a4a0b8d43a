import { shortestMarkersMs } from '../../contract/retention.ts'
import { factsOf, type Received } from '../../message/received.ts'
import type { Receipt } from '../../ports/receipts.ts'
import type { StoreSession } from '../../ports/store-session.ts'
import type { ConsumerContext } from '../consumer-context.ts'

/** Makes the receipt of a message; null when the contract or the store keeps none. */
export function receiptsOf<M, Tx>(
  context: ConsumerContext<M, Tx>,
): ((received: Received<M>) => Receipt) | null {
  const { consumer, store, enrolment, mode } = context
  if (!consumer.evidence.receipts || !store.capabilities.receipts) return null
  const keepsPayload = consumer.evidence.keep === 'payload'
  const campaign = context.campaignId ?? enrolment.campaignId ?? null
  const outlivesMarker = outlivesMarkers(consumer)
  return received => ({
    facts: { ...identities(received), ...broker(received), mode, campaign },
    payload: keepsPayload ? received.delivery.body : null,
    outlivesMarker,
  })
}

/** Receipts of messages that get no marker, in one statement of their own. */
export async function keepReceipts<M, Tx>(
  messages: readonly Received<M>[],
  { receipts }: StoreSession<Tx>,
  context: ConsumerContext<M, Tx>,
): Promise<void> {
  const make = receiptsOf(context)
  if (make === null || receipts === undefined) return
  const kept = messages.flatMap(received =>
    received.id === null ? [] : { id: received.id, digest: received.digest, receipt: make(received) },
  )
  if (kept.length > 0) await receipts.keep(kept)
}

function outlivesMarkers({
  dedup,
  retention,
}: Pick<ConsumerContext['consumer'], 'dedup' | 'retention'>): boolean {
  return dedup !== 'marker' || (retention !== null && retention.receipts > shortestMarkersMs(retention))
}

/** A message that cannot be read has its id, and what its headers and the broker say. */
function identities(received: Received) {
  const known = factsOf(received)
  return {
    type: known?.type ?? null,
    schemaVersion: known?.schemaVersion ?? null,
    producer: known?.producer ?? null,
    correlationId: known?.correlationId ?? null,
    causationId: known?.causationId ?? null,
    eventId: known?.eventId ?? null,
    businessKey: received.readable ? received.businessKey : null,
    aggregateId: known?.aggregateId ?? null,
    aggregateVersion: known?.aggregateVersion ?? null,
    occurredAtMs: known?.occurredAtMs ?? null,
  }
}

function broker({ delivery }: Received) {
  const { timestampMs } = delivery.properties
  const sentMs = Number.isFinite(timestampMs) ? timestampMs! : null
  return { origin: delivery.origin, position: delivery.position, sentMs }
}

import { storableText } from '../../message/identity.ts'
import { factsOf, type Received } from '../../message/received.ts'
import type { HeldIdentities } from '../../ports/held-record.ts'

/** What is kept of a message beside its bytes; of an unreadable one, what its headers and the broker say. */
export function heldIdentities(received: Received): HeldIdentities {
  const known = factsOf(received)
  const { correlationId, type } = received.delivery.properties
  return {
    messageType: known?.type ?? storableText(type),
    schemaVersion: known?.schemaVersion ?? null,
    producer: known?.producer ?? null,
    correlationId: known?.correlationId ?? storableText(correlationId),
    aggregateId: known?.aggregateId ?? null,
    aggregateVersion: known?.aggregateVersion ?? null,
  }
}

/** Stored without an id, and now read with one. */
export function isIdentifiedNow({ id, delivery }: Received): boolean {
  return delivery.held?.messageId === null && id !== null
}

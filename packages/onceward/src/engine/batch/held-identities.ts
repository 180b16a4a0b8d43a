import { storableText } from '../../message/identity.ts'
import type { Received } from '../../message/received.ts'
import type { HeldIdentities } from '../../ports/store.ts'

/** What is kept of a message beside its bytes; of an unreadable one, what the broker knows. */
export function heldIdentities(received: Received): HeldIdentities {
  const envelope = received.readable ? received.envelope : null
  const { correlationId, type } = received.delivery.properties
  return {
    messageType: envelope?.type ?? storableText(type),
    schemaVersion: envelope?.schemaVersion ?? null,
    producer: envelope?.producer ?? null,
    correlationId: envelope?.correlationId ?? storableText(correlationId),
    aggregateId: envelope?.aggregateId ?? null,
    aggregateVersion: envelope?.aggregateVersion ?? null,
  }
}

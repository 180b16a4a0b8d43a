import type { Decided } from '../engine/batch/batch-attempt.ts'
import { storableText } from '../message/identity.ts'
import type { ReadableMessage } from '../message/received.ts'
import { fromStoredJson, toStoredJson } from '../message/stored-json.ts'
import type { Delivery } from '../ports/source.ts'

/** Work that was leased as it was stored, on its way to the worker of the same process. */
export class HandoffQueue {
  #deliveries: Delivery[] = []
  #bytes = 0

  get size(): number {
    return this.#deliveries.length
  }

  get bytes(): number {
    return this.#bytes
  }

  push(deliveries: readonly Delivery[]): void {
    for (const delivery of deliveries) {
      this.#deliveries.push(delivery)
      this.#bytes += delivery.body.length
    }
  }

  take(max: number): readonly Delivery[] {
    const taken = this.#deliveries.splice(0, max)
    for (const { body } of taken) this.#bytes -= body.length
    return taken
  }
}

/**
 * The delivery as a worker would read it from the store, so that a second attempt sees the same, with the
 * decoded message.
 */
export function handedDelivery({ received, lease, keyless = false }: Decided): Delivery {
  const read = received as ReadableMessage
  const { body, headers, properties, origin, position, key, deliveryCount } = read.delivery
  const { row, epoch } = lease!
  return {
    body,
    headers: asStored(headers),
    properties: asStored(properties),
    origin,
    position,
    partition: '',
    place: null,
    key: storableText(key, 1_000),
    redelivered: deliveryCount > 0,
    deliveryCount,
    token: null,
    held: {
      row,
      epoch,
      messageId: read.id,
      digest: read.digest,
      waited: null,
      keyless,
      abandoned: false,
      read,
    },
  }
}

function asStored<T extends object>(value: T): T {
  const text = toStoredJson(value)
  return text === '{}' ? value : (fromStoredJson(text) as T)
}

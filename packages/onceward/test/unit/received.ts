import type { ReadableMessage, UnreadableMessage } from '../../src/message/received.ts'
import type { Delivery } from '../../src/ports/source.ts'

export function deliveryOf(body: Buffer | string = 'x', changes: Partial<Delivery> = {}): Delivery {
  return {
    body: Buffer.from(body),
    headers: {},
    properties: {},
    origin: 'unit',
    position: null,
    partition: '',
    place: null,
    key: null,
    redelivered: false,
    deliveryCount: 0,
    token: null,
    ...changes,
  }
}

/** A readable message with just enough around it for lanes and batches. */
export function receivedOf(id: string, orderKey: string | null = null, bytes = 1): ReadableMessage<unknown> {
  return {
    readable: true,
    delivery: deliveryOf(Buffer.alloc(bytes)),
    digest: Buffer.from(id),
    id,
    lane: orderKey,
    message: { id },
    envelope: { id, orderKey } as ReadableMessage<unknown>['envelope'],
    businessKey: null,
    orderKey,
    businessDigest: null,
  }
}

export function unreadableOf(text: string): UnreadableMessage {
  return {
    readable: false,
    delivery: deliveryOf(text),
    digest: Buffer.from(text),
    id: null,
    lane: null,
    problem: { kind: 'undecodable', text: 'why' },
  }
}

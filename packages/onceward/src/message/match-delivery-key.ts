import { readId, storableText } from './identity.ts'
import type { Received } from './received.ts'

/**
 * For sources that order by their own key: a message with a different order key has no order, and is
 * unreadable.
 */
export function matchDeliveryKey<M>(received: Received<M>): Received<M> {
  if (!received.readable) return received
  const { delivery, digest, id, orderKey } = received
  const key = readId(delivery.key)
  if ('id' in key && key.id === orderKey) return received
  const text =
    delivery.key === null
      ? `order key is "${orderKey}", but the message was published without a key`
      : `order key is "${orderKey}", but the message was published with key "${storableText(delivery.key)}"`
  const problem = {
    kind: 'order key malformed' as const,
    text: `${text}: the source orders by that key alone`,
  }
  return { readable: false, delivery, digest, id, lane: null, problem }
}

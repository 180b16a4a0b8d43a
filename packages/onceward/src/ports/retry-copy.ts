import { bareCopy, bareMap } from '../message/bare-map.ts'
import { fromStoredJson, toStoredJson } from '../message/stored-json.ts'
import type { Outgoing } from './outgoing.ts'
import { countHeaders, deathHeaders, levelQueue, retryHeader } from './retry-levels.ts'
import type { Delivery } from './source.ts'

/**
 * The copy of a delivery that waits `levelMs` at the broker and returns to `queue`. Null if it cannot be
 * copied. The relay sets the message id; the table in the retry header has everything else.
 */
export function retryCopy(
  id: string,
  delivery: Delivery,
  broker: 'rabbitmq' | 'kafka',
  queue: string,
  levelMs: number,
): Outgoing | null {
  const kept = fromStoredJson(toStoredJson(delivery.headers))
  if ('$unstorable' in kept) return null
  const ours = broker === 'rabbitmq' ? forRabbit(delivery, queue, kept) : forKafka(delivery, queue, kept)
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

import type { Consumer } from '../../contract/define-consumer.ts'
import type { SqlTransaction } from '../../contract/handler.ts'
import { createAnsweredReader } from '../../message/read-message.ts'
import type { LogRecord } from '../../ports/log-record.ts'
import type { LogRange } from '../../ports/range-reader.ts'
import type { Delivery } from '../../ports/source.ts'

/**
 * Whether a record has one of the keys as any of its identities. An unreadable record matches only by its id.
 */
export function selectKeys(keys: readonly string[], consumer: Consumer<unknown, SqlTransaction>) {
  const wanted = new Set(keys)
  const read = createAnsweredReader(consumer)
  return async (record: LogRecord, range: LogRange): Promise<boolean> => {
    const received = await read(deliveryOf(record, range))
    if (!received.readable) return received.id !== null && wanted.has(received.id)
    const { id, businessKey, orderKey, aggregateId } = received.envelope
    return [id, businessKey, orderKey, aggregateId].some(key => key !== null && wanted.has(key))
  }
}

export function deliveryOf(record: LogRecord, { partition, incarnation }: LogRange): Delivery {
  const { body, headers, properties, key, at, next, position, redelivered, archived } = record
  const place = { incarnation, epoch: 0, at, next }
  const facts = { body, headers, properties, key, position, redelivered, partition, place, archived }
  return { ...facts, origin: record.origin ?? partition, deliveryCount: 0, token: null }
}

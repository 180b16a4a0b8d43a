import type { LogRecord } from '../log/log-record.ts'
import { readAmqpMessage } from './wire/amqp-message.ts'
import { type Chunk, eachRecord } from './wire/chunk.ts'

/** The records of a chunk from `from` on. Those before `handedOver` were handed over by this process already. */
export function toRecords(chunk: Chunk, stream: string, from: number, handedOver: number): LogRecord[] {
  const records: LogRecord[] = []
  let at = ''
  eachRecord(chunk, from, (offset, bytes) => {
    const { body, headers, properties, key } = readAmqpMessage(bytes, chunk.timestampMs)
    if (at === '') at = String(offset)
    const next = String(offset + 1)
    const redelivered = offset < handedOver
    records.push({ body, headers, properties, key, at, next, position: `${stream}@${at}`, redelivered })
    at = next
  })
  return records
}

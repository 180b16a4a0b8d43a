import assert from 'node:assert/strict'
import type { ConsumeMessage } from 'amqplib'
import { limitDeath } from '../../../src/drivers/rabbitmq/dead-letter-ingest.ts'
import { readFieldTable } from '../../../src/drivers/rabbitmq/field-table.ts'
import { plainTable } from '../../../src/drivers/rabbitmq/plain-table.ts'
import { type AmqpFrameReader, readHeadersOurselves } from '../../../src/drivers/rabbitmq/read-headers.ts'
import { toDelivery } from '../../../src/drivers/rabbitmq/to-delivery.ts'
import { toStoredJson } from '../../../src/message/stored-json.ts'
import { tableBytes } from '../../../src/ports/wire-size.ts'
import { orRefused, type Target } from '../target.ts'

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex')

const tables = [
  hex('0161 53 00000002 6869 0162 74 01 0163 6c ffffffffffffffff'),
  hex('0166 46 00000006 0161 49 00000001'),
  hex('0161 41 00000006 49 00000001 56 0178 78 00000001 ff'),
  hex('0164 44 02 00000001 0174 54 0000000000000005 0165 64 3ff0000000000000'),
]

const fieldTables: Target = {
  name: 'amqp field tables',
  kind: 'bytes',
  seeds: tables,
  words: [...'SxFAVtTDbBsuIilfd'],
  check(input) {
    const table = orRefused(
      () => readFieldTable(input),
      error => error instanceof RangeError,
    )
    if (table === null) return
    assert.equal(Object.getPrototypeOf(table), null)
    assert.ok(JSON.parse(toStoredJson(table)) !== null)
    plainTable(table)
  },
}

function frame(table: Buffer): Buffer {
  const head = Buffer.alloc(21)
  head[0] = 2
  head.writeUInt32BE(14 + 4 + table.length, 3)
  head.writeUInt16BE(0x2000, 19)
  const length = Buffer.alloc(4)
  length.writeUInt32BE(table.length)
  return Buffer.concat([head, length, table, Buffer.of(0xce)])
}

/** A header frame: the table is taken out, and what stays is a whole frame for the client library. */
const headerFrames: Target = {
  name: 'amqp header frames',
  kind: 'bytes',
  seeds: tables.map(frame),
  check(input) {
    const reader: AmqpFrameReader = {
      rest: input,
      recvFrame: () => ({ fields: { headers: undefined } }),
    }
    readHeadersOurselves(reader)
    orRefused(
      () => reader.recvFrame(),
      error => error instanceof RangeError,
    )
    assert.ok(reader.rest.length <= input.length)
  },
}

const deliveries: Target = {
  name: 'amqp deliveries',
  kind: 'json',
  seeds: [
    {
      headers: { 'x-delivery-count': 3, a: { '!': 'timestamp', value: 1 } },
      properties: { messageId: 'a', timestamp: 5 },
    },
    {
      headers: {
        'onceward-retry': { queue: 'q', key: 'k', properties: { messageId: 'm' }, was: { 'x-death': [] } },
        'x-death': [{ queue: 'q', reason: 'delivery_limit', count: 1 }],
      },
      properties: { type: 't', contentEncoding: 'gzip' },
    },
  ],
  words: [
    'x-death',
    'x-delivery-count',
    'x-acquired-count',
    'onceward-retry',
    'queue',
    'key',
    'properties',
    'was',
    '!',
    'value',
  ],
  check(input) {
    const { headers, properties } = parsedObject(input)
    const message = {
      content: Buffer.from('{}'),
      fields: { redelivered: false, deliveryTag: 1, routingKey: 'k' },
      properties: { ...asObject(properties), headers: asObject(headers) },
    } as unknown as ConsumeMessage
    const delivery = toDelivery(message, 'q', { epoch: 1, deadLetter: false })
    assert.ok(delivery.deliveryCount >= 0 && Number.isInteger(delivery.deliveryCount))
    const bytes = tableBytes(delivery.headers)
    assert.ok(bytes >= 4)
    limitDeath(asObject(headers), 'q')
  },
}

function parsedObject(input: Buffer): Record<string, unknown> {
  try {
    return asObject(JSON.parse(input.toString('utf8')))
  } catch {
    return {}
  }
}

function asObject(value: unknown): Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {}
}

export const amqpTargets = [fieldTables, headerFrames, deliveries]

import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { describe, test } from 'node:test'
import { plainTable } from '../../src/drivers/rabbitmq/plain-table.ts'
import { outgoingOf } from '../../src/engine/batch/buffer-messages.ts'
import { fitsOnWire, tableBytes } from '../../src/ports/wire-size.ts'

const library = createRequire(import.meta.url)
  .resolve('amqplib')
  .replace(/channel_api\.js$/, 'lib/codec.js')
const { encodeTable } = createRequire(import.meta.url)(library) as {
  encodeTable(buffer: Buffer, table: object, offset: number): number
}

const message = { queue: 'q', messageId: 'm', key: null, properties: '{}', body: Buffer.from('b') }

describe('the size of a message on the wire', () => {
  const tables: Record<string, unknown>[] = [
    {},
    { a: '', b: 'é', c: null, d: true },
    { n: [0, -128, 127, 128, -129, 32_767, 32_768, -32_769, 2 ** 31, 2 ** 31 - 1, 2 ** 53, 0.5, 1e300] },
    { nested: { list: [[], {}, { x: [''] }], bytes: Buffer.alloc(300) } },
    { many: Array.from({ length: 5_000 }, () => '') },
  ]
  for (const [index, table] of tables.entries())
    test(`is what the client encodes, table ${index}`, () => {
      assert.equal(tableBytes(table), encodeTable(Buffer.alloc(2 ** 20), plainTable(table), 0))
    })

  test('typed values never take more than they are counted for', () => {
    for (const value of [
      { '!': 'timestamp', value: 1_700_000_000 },
      { '!': 'float', value: 0.5 },
      { '!': 'decimal', value: { places: 2, digits: 314 } },
      { '!': 'other', value: 1 },
    ])
      assert.ok(tableBytes({ value }) >= encodeTable(Buffer.alloc(1_000), plainTable({ value }), 0))
  })

  test('14,000 empty texts do not fit into AMQP, nor a name of 256 bytes, nor what is nested beyond the stack', () => {
    const fits = (headers: object) => fitsOnWire('rabbitmq', { ...message, headers: JSON.stringify(headers) })
    assert.equal(fits({ list: Array.from({ length: 14_000 }, () => '') }), false)
    assert.equal(fits({ list: Array.from({ length: 12_000 }, () => '') }), true)
    assert.equal(fits({ ['n'.repeat(256)]: 1, more: 'x'.repeat(300) }), false)
    const deep = `{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`
    assert.equal(fitsOnWire('rabbitmq', { ...message, headers: deep }), false)
  })

  test('a Kafka record counts with its key', () => {
    const record = { ...message, headers: '{}', body: Buffer.alloc(700 * 1024) }
    assert.equal(fitsOnWire('kafka', record), true)
    assert.equal(fitsOnWire('kafka', { ...record, key: 'k'.repeat(200 * 1024) }), false)
  })

  test('a Kafka record counts with the name of each value of a list', () => {
    const headers = JSON.stringify({ ['n'.repeat(200)]: Array.from({ length: 200 }, () => 'v') })
    const limits = { bytesMax: () => 40_000, doubt: () => {} }
    assert.equal(fitsOnWire('kafka', { ...message, headers }, limits), false)
  })

  test("the cluster's limit of a topic counts, and is read again for a message that does not fit", () => {
    const record = { ...message, headers: '{}', body: Buffer.alloc(900 * 1024) }
    let doubts = 0
    const limits = (bytes: number | null) => ({ bytesMax: () => bytes, doubt: () => void doubts++ })
    assert.equal(fitsOnWire('kafka', record, limits(null)), false)
    assert.equal(fitsOnWire('kafka', record, limits(1_000_000)), true)
    assert.equal(fitsOnWire('kafka', { ...record, body: Buffer.alloc(20_000) }, limits(20_000)), false)
    assert.equal(doubts, 2)
    const publish = (bytesMax: number | undefined, learned: number | null) =>
      outgoingOf(
        { broker: 'kafka', topic: 'captures', ...(bytesMax && { bytesMax }) },
        { id: 'm', body: Buffer.alloc(30_000) },
        'here',
        limits(learned),
      )
    assert.throws(
      () => publish(100_000, 20_000),
      /accepts 20000\. .*; or raise max\.message\.bytes of the topic/,
    )
    assert.throws(() => publish(25_000, 100_000), /accepts 25000\. .* set bytesMax/)
    assert.throws(() => publish(25_000, null), /accepts 25000/)
    assert.equal(publish(undefined, 40_000).body.length, 30_000)
    assert.equal(doubts, 5)
  })

  test('a message whose headers AMQP cannot carry is refused before its row is written', () => {
    const target = { broker: 'rabbitmq', queue: 'q' } as const
    const headers = { list: Array.from({ length: 14_000 }, () => '') }
    assert.throws(
      () => outgoingOf(target, { id: 'm', body: {}, headers }, 'here'),
      /here: the headers take \d+ bytes/,
    )
  })

  test('a message that its Kafka topic refuses is refused before its row is written', () => {
    const target = { broker: 'kafka', topic: 'captures' } as const
    const body = Buffer.alloc(1024 * 1024)
    const publish = (to: typeof target & { bytesMax?: number }, key: string | null = null) =>
      outgoingOf(to, { id: 'm', body, key }, 'here')
    assert.throws(() => publish(target), /here: the record takes \d+ bytes .* topic captures accepts 1048588/)
    assert.equal(publish({ ...target, bytesMax: 2 * 1024 * 1024 }).body.length, body.length)
    assert.throws(
      () => publish({ ...target, bytesMax: 1024 * 1024 + 2_000 }, 'k'.repeat(2_000)),
      /accepts 1050576/,
    )
  })
})

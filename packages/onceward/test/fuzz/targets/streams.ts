import assert from 'node:assert/strict'
import { crc32, gzipSync } from 'node:zlib'
import { toRecords } from '../../../src/drivers/rabbitmq-stream/to-records.ts'
import { readAmqpMessage } from '../../../src/drivers/rabbitmq-stream/wire/amqp-message.ts'
import { eachRecord, readChunk } from '../../../src/drivers/rabbitmq-stream/wire/chunk.ts'
import { FrameSplitter } from '../../../src/drivers/rabbitmq-stream/wire/frame-splitter.ts'
import { orRefused, type Target } from '../target.ts'

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex')
const u32 = (value: number) => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}
const sized = (body: Buffer) => Buffer.concat([u32(body.length), body])

const messages = [
  hex('005375 a003 616263'),
  hex(
    '005372 c10c 04 a30161 5401 a30162 a10178 005373 c005 01 a1026964 005374 c105 02 a1016b 41 005375 a000',
  ),
  hex('005377 a1026869'),
  hex('005373 d000000010 00000003 98 00112233445566778899aabbccddeeff 40 40 005375 b000000001 61'),
  hex('005374 c10e 02 a10161 e006 02 a1 0162 0163 005376 c001 00'),
]

function subBatch(method: number, bodies: readonly Buffer[]): Buffer {
  const plain = Buffer.concat(bodies.map(sized))
  const bytes = method === 1 ? gzipSync(plain) : plain
  const head = Buffer.of(0x80 | (method << 4), 0, bodies.length)
  return Buffer.concat([head, u32(plain.length), u32(bytes.length), bytes])
}

function chunk(entries: readonly Buffer[], records: number): Buffer {
  const data = Buffer.concat(entries)
  const header = Buffer.alloc(48)
  header[0] = 0x50
  header.writeUInt16BE(entries.length, 2)
  header.writeUInt32BE(records, 4)
  header.writeBigUInt64BE(100n, 24)
  header.writeUInt32BE(data.length, 36)
  return mended(Buffer.concat([header, data]))
}

function mended(bytes: Buffer): Buffer {
  if (bytes.length < 48) return bytes
  const sound = Buffer.from(bytes)
  sound.writeUInt32BE(bytes.length - 48, 36)
  sound.writeUInt32BE(crc32(bytes.subarray(48)), 32)
  return sound
}

const [first, second] = messages as [Buffer, Buffer]

const chunks: Target = {
  name: 'stream chunks',
  kind: 'bytes',
  seeds: [
    chunk([sized(first), sized(second)], 2),
    chunk([subBatch(0, [first, second]), sized(first)], 3),
    chunk([subBatch(1, [first, second, first])], 3),
  ].map(bytes => Buffer.concat([Buffer.of(1), bytes])),
  check(input) {
    const how = input[0] ?? 0
    const bytes = (how & 1) === 1 ? mended(input.subarray(1)) : input.subarray(1)
    const from = 98 + ((how >> 1) & 7)
    const read = orRefused(
      () => readChunk(bytes, 0),
      error => error.message === 'an unreadable chunk' || error instanceof RangeError,
    )
    if (read === null) return
    let last = from - 1
    const inOrder = (offset: number, count: number) => {
      assert.ok(offset > last, `offset ${offset} after ${last}`)
      last = offset + count - 1
    }
    const next = eachRecord(read, from, {
      onRecord: offset => inOrder(offset, 1),
      onBroken: (offset, count) => inOrder(offset, count),
    })
    assert.ok(last < Math.max(next, from), `record ${last} of a chunk that ends at ${next}`)
    for (const { headers } of toRecords(read, 'stream', from, from).records) Object.keys(headers)
  },
}

const amqpMessages: Target = {
  name: 'amqp 1.0 messages',
  kind: 'bytes',
  seeds: messages,
  words: [
    hex('005372'),
    hex('005373'),
    hex('005374'),
    hex('005375'),
    hex('d000000010'),
    hex('c10c04'),
    hex('0000'),
  ],
  check(input) {
    const read = orRefused(
      () => readAmqpMessage(input, 5),
      () => false,
    )
    assert.ok(read!.body.length <= input.length)
    assert.equal(Object.getPrototypeOf(read!.headers), null)
  },
}

/** Frames do not depend on how the socket cuts them. */
const frames: Target = {
  name: 'stream frames',
  kind: 'bytes',
  seeds: [Buffer.concat([Buffer.of(3), sized(Buffer.from('12345')), sized(Buffer.from('6789'))])],
  words: [u32(4), u32(0), u32(0xffffffff), u32(256 * 1024 * 1024)],
  check(input) {
    const bytes = input.subarray(1)
    const split = (pieces: number) => {
      const found: string[] = []
      const splitter = new FrameSplitter()
      const size = Math.max(1, Math.ceil(bytes.length / pieces))
      const refused = orRefused(
        () => {
          for (let at = 0; at < bytes.length; at += size)
            splitter.add(bytes.subarray(at, at + size), frame => void found.push(frame.toString('hex')))
          return true
        },
        error => error.message.endsWith("this is not RabbitMQ's stream protocol"),
      )
      return [...found, refused]
    }
    assert.deepEqual(split(1 + (input[0] ?? 0)), split(1))
  },
}

export const streamTargets = [chunks, amqpMessages, frames]

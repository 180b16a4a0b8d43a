import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { readFieldTable } from '../../src/drivers/rabbitmq/field-table.ts'
import { plainTable } from '../../src/drivers/rabbitmq/plain-table.ts'
import { readCount } from '../../src/drivers/rabbitmq/read-count.ts'
import { type AmqpFrameReader, readHeadersOurselves } from '../../src/drivers/rabbitmq/read-headers.ts'
import { digestOf } from '../../src/message/digest.ts'
import { readerFor } from '../../src/message/identity.ts'
import { fromStoredJson, toStoredJson } from '../../src/message/stored-json.ts'

/** The client's own, to be compared with: by file, because it exports none of it. */
const require = createRequire(import.meta.url)
const part = (name: string) => require(join(dirname(require.resolve('amqplib')), 'lib', name)) as unknown
const { encodeTable, decodeFields } = part('codec.js') as {
  encodeTable(buffer: Buffer, table: object, offset: number): number
  decodeFields(bytes: Buffer): Record<string, unknown>
}
const defs = part('defs.js') as {
  BasicProperties: number
  encodeProperties(id: number, channel: number, size: number, fields: object): Buffer
}
const frames = part('frame.js') as {
  parseFrame(bytes: Buffer, max: number): { rest: Buffer } | false
  decodeFrame(frame: object): unknown
}

function encoded(table: object): Buffer {
  const buffer = Buffer.alloc(200_000)
  return Buffer.from(buffer.subarray(4, encodeTable(buffer, table, 0)))
}

const bare = (entries: readonly (readonly [string, unknown])[]) => {
  const map: Record<string, unknown> = Object.create(null)
  for (const [name, value] of entries) map[name] = value
  return map
}

const names = fc.oneof(
  fc.string({ maxLength: 20 }),
  fc.constantFrom('constructor', 'toString', 'hasOwnProperty', '7', ''),
)
const { table } = fc.letrec<{ value: unknown; table: object }>(tie => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.string(),
    // The client takes larger fractions and -Infinity for whole numbers, and throws.
    fc
      .double({ noNaN: true })
      .filter(n => (Number.isInteger(n) ? Number.isSafeInteger(n) : n === Infinity || Math.abs(n) < 2 ** 50)),
    fc.integer(),
    fc.maxSafeInteger(),
    fc.boolean(),
    fc.constant(null),
    fc.uint8Array().map(bytes => Buffer.from(bytes)),
    fc.nat().map(value => ({ '!': 'timestamp', value })),
    fc.nat(255).map(places => ({ '!': 'decimal', value: { places, digits: 7 } })),
    fc.array(tie('value'), { maxLength: 4 }),
    tie('table'),
  ),
  table: fc
    .dictionary(
      names.filter(name => name !== '!'),
      tie('value'),
      { maxKeys: 5 },
    )
    .map(one => bare(Object.entries(one).filter(([name]) => name !== '__proto__'))),
}))

describe('a field table', () => {
  test('is read as the client reads it, except for prototypes', () => {
    fc.assert(
      fc.property(table, given => {
        const bytes = encoded(given)
        assert.deepEqual(structuredClone(readFieldTable(bytes)), structuredClone(decodeFields(bytes)))
      }),
    )
  })

  test('may have a name __proto__ at every level, with any value', () => {
    for (const value of [
      1,
      'text',
      Buffer.from('bytes'),
      null,
      [1],
      bare([['__proto__', bare([['a', 1]])]]),
    ]) {
      const read = readFieldTable(
        encoded(
          bare([
            ['__proto__', value],
            ['other', 2],
          ]),
        ),
      )
      assert.deepEqual(Object.keys(read), ['__proto__', 'other'])
      assert.deepEqual(structuredClone([Object.values(read)[0]]), structuredClone([value]))
      assert.equal(Object.getPrototypeOf(read), null)
    }
  })

  test('keeps integers that no number holds exactly, and writes them as it read them', () => {
    const bytes = Buffer.from('\x01nl\x00\x20\x00\x00\x00\x00\x00\x01', 'latin1')
    const read = readFieldTable(bytes)
    assert.deepEqual({ ...(read.n as object) }, { '!': 'int64', value: '9007199254740993' })
    assert.deepEqual(encoded(plainTable(fromStoredJson(toStoredJson(read)))), bytes)
    assert.equal(readerFor({ header: 'n' })(null, { headers: read } as never), '9007199254740993')
    assert.equal(readCount(read.n), 2 ** 31 - 1)
  })

  test('has the same digest as when the client read it', () => {
    const listed = ['h', 'absent']
    const check = (value: unknown) => {
      const bytes = encoded({ h: value })
      const [theirs, ours] = [decodeFields(bytes), readFieldTable(bytes)]
      const digests = [theirs, ours, fromStoredJson(toStoredJson(ours))].map(headers =>
        digestOf(Buffer.from('body'), headers, listed).toString('hex'),
      )
      assert.deepEqual(new Set(digests).size, 1, JSON.stringify(theirs))
    }
    fc.assert(fc.property(table, check))
    const long = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
    fc.assert(fc.property(long, value => check({ '!': 'int64', value })))
    fc.assert(fc.property(long, value => check([{ deep: { '!': 'int64', value } }])))
  })

  test('of any bytes is read or refused', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), bytes => {
        try {
          readFieldTable(Buffer.from(bytes))
        } catch (error) {
          assert.ok(error instanceof RangeError, String(error))
        }
      }),
    )
  })
})

describe('frames whose headers are read by us', () => {
  const frame = (fields: object) => defs.encodeProperties(defs.BasicProperties, 1, 5, fields)

  /** The client's connection, as far as it reads frames: bytes come in pieces. */
  function reading(pieces: Buffer[]): AmqpFrameReader {
    const reader: AmqpFrameReader = {
      rest: Buffer.alloc(0),
      recvFrame() {
        const found = frames.parseFrame(this.rest, 0)
        if (found !== false) {
          this.rest = found.rest
          return frames.decodeFrame(found)
        }
        const more = pieces.shift()
        if (more === undefined) return false
        this.rest = Buffer.concat([this.rest, more])
        return this.recvFrame()
      },
    }
    readHeadersOurselves(reader)
    return reader
  }

  test('are complete, with everything around them, for any split of the bytes', () => {
    const headers = bare([
      ['__proto__', 'h'],
      ['n', 1],
    ])
    const given = { contentType: 'a/b', contentEncoding: 'gzip', headers, messageId: 'm', appId: 'x' }
    const bytes = Buffer.concat([
      frame(given),
      frame({ messageId: 'plain' }),
      frame({ headers: {} }),
      frame(given),
    ])
    for (const size of [1, 7, 20, 33, bytes.length]) {
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) =>
        bytes.subarray(n * size, (n + 1) * size),
      )
      const reader = reading(pieces)
      const read: { fields: Record<string, unknown> }[] = []
      for (let next = reader.recvFrame(); next !== false; next = reader.recvFrame()) read.push(next as never)
      assert.equal(read.length, 4)
      for (const { fields } of [read[0]!, read[3]!]) {
        assert.deepEqual(fields.headers, headers)
        assert.deepEqual(
          [fields.contentType, fields.contentEncoding, fields.messageId, fields.appId],
          ['a/b', 'gzip', 'm', 'x'],
        )
      }
      assert.deepEqual([read[1]!.fields.headers, read[1]!.fields.messageId], [undefined, 'plain'])
      assert.deepEqual(read[2]!.fields.headers, bare([]))
    }
  })

  test('that cannot be parsed keep their bytes, and count as nested too deep', () => {
    const bytes = frame({ headers: { abc: true } })
    bytes[bytes.indexOf('abc') + 3] = 0x7e
    const { fields } = reading([bytes]).recvFrame() as { fields: { headers: Record<string, unknown> } }
    assert.deepEqual(Object.keys(fields.headers), ['onceward-unreadable', 'onceward-unreadable-bytes'])
    assert.ok((fields.headers['onceward-unreadable-bytes'] as Buffer).includes('abc'))
  })
})

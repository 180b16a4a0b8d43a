import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { crc32, gzipSync } from 'node:zlib'
import { Credit } from '../../src/sources/rabbitmq-stream/credit.ts'
import { readAmqpMessage } from '../../src/sources/rabbitmq-stream/wire/amqp-message.ts'
import { eachRecord, readChunk } from '../../src/sources/rabbitmq-stream/wire/chunk.ts'
import { FrameSplitter } from '../../src/sources/rabbitmq-stream/wire/frame-splitter.ts'

const u16 = (value: number) => Buffer.of(value >> 8, value & 255)
const u32 = (value: number) => Buffer.concat([u16(value >>> 16), u16(value & 65_535)])
const sized = (body: string) => Buffer.concat([u32(body.length), Buffer.from(body)])

function packed(method: number, ...bodies: string[]): Buffer {
  const plain = Buffer.concat(bodies.map(sized))
  const bytes = method === 1 ? gzipSync(plain) : plain
  return Buffer.concat([
    Buffer.of(0x80 | (method << 4)),
    u16(bodies.length),
    u32(plain.length),
    u32(bytes.length),
    bytes,
  ])
}

function chunkOf(firstOffset: number, records: number, entries: readonly Buffer[], type = 0): Buffer {
  const data = Buffer.concat(entries)
  const header = Buffer.alloc(48)
  header[0] = 0x50
  header[1] = type
  header.writeUInt16BE(entries.length, 2)
  header.writeUInt32BE(records, 4)
  header.writeBigInt64BE(1_700_000_000_000n, 8)
  header.writeBigUInt64BE(BigInt(firstOffset), 24)
  header.writeUInt32BE(crc32(data), 32)
  header.writeUInt32BE(data.length, 36)
  return Buffer.concat([header, data])
}

describe('a chunk', () => {
  const mixed = chunkOf(100, 8, [
    sized('a'),
    packed(0, 'b', 'c'),
    sized('d'),
    packed(1, 'e', 'f', 'g'),
    sized('h'),
  ])

  test('may mix records and sub-batches; every record has its own offset', () => {
    for (const from of [0, 100, 101, 102, 103, 105, 107, 108]) {
      const read: string[] = []
      eachRecord(readChunk(mixed, 0)!, from, (offset, bytes) => read.push(`${offset}${bytes}`))
      const all = ['100a', '101b', '102c', '103d', '104e', '105f', '106g', '107h']
      assert.deepEqual(
        read,
        all.filter(one => Number.parseInt(one, 10) >= from),
        `from ${from}`,
      )
    }
  })

  test('with a wrong sum, or cut short, is refused', () => {
    const damaged = Buffer.from(mixed)
    damaged[60]! ^= 1
    assert.throws(() => readChunk(damaged, 0), /damaged on its way/)
    assert.throws(() => readChunk(mixed.subarray(0, 70), 0), /cannot be read/)
  })

  test('that the broker wrote for itself has no records for us', () => {
    assert.equal(readChunk(chunkOf(0, 1, [sized('offsets')], 1), 0), null)
  })
})

describe('a record', () => {
  const read = (...hex: string[]) => readAmqpMessage(Buffer.from(hex.join('').replaceAll(' ', ''), 'hex'), 7)
  const data = '00 53 75 a0 02 6869'

  test('of one or several data sections is their bytes', () => {
    assert.equal(read(data).body.toString(), 'hi')
    assert.equal(read(data, '00 53 75 b0 00000001 21').body.toString(), 'hi!')
    assert.deepEqual({ ...read(data).properties }, { timestampMs: 7 })
  })

  test('whose body is a text is its bytes; of any other value the encoded ones', () => {
    assert.equal(read('00 53 77 a1 02 6869').body.toString(), 'hi')
    assert.deepEqual([...read('00 53 77 54 05').body], [0x54, 5])
  })

  test('that is no AMQP message is a body from end to end', () => {
    for (const hex of [
      '7b7d',
      '',
      '00',
      '00 53 75',
      '00 53 75 a0 05 6869',
      '00 53 99 40',
      '00 53 74 c1 03 02 a1',
      // Sections of the wrong kind: properties that are a number, or nothing; annotations and headers that are no maps.
      '00 53 73 54 05 00 53 75 a0 02 6869',
      '00 53 73 40 00 53 75 a0 02 6869',
      '00 53 72 40 00 53 75 a0 02 6869',
      '00 53 74 a1 01 61 00 53 75 a0 02 6869',
    ]) {
      const { body, headers } = read(hex)
      assert.equal(body.toString('hex'), hex.replaceAll(' ', ''))
      assert.deepEqual({ ...headers }, {})
    }
  })

  test('may carry values of every type', () => {
    const entries = [
      ['a1 01 61', '83 0000018bcfe56800'],
      ['a1 01 62', '82 3ff8000000000000'],
      ['a1 01 63', '80 ffffffffffffffff'],
      ['a1 01 64', '98 00112233445566778899aabbccddeeff'],
      ['a1 01 65', 'e0 04 02 54 01 02'],
      ['a1 01 66', 'c0 04 02 41 a1 00'],
    ].flat()
    const bytes = entries.join('').replaceAll(' ', '')
    const size = (bytes.length / 2 + 1).toString(16).padStart(2, '0')
    const { headers } = read(`00 53 74 c1 ${size} 0c`, bytes, data)
    assert.deepEqual(
      { ...headers },
      {
        a: 1_700_000_000_000,
        b: 1.5,
        c: '18446744073709551615',
        d: '00112233-4455-6677-8899-aabbccddeeff',
        e: [1, 2],
        f: [true, ''],
      },
    )
  })

  test('that claims four thousand million values without width costs nothing', () => {
    const hostile = '00 53 74 d1 0000001a 00000002 a1 01 61 f0 00000005 ffffffff 40'
    assert.equal(
      read(hostile, data).body.length,
      Buffer.from((hostile + data).replaceAll(' ', ''), 'hex').length,
    )
  })

  test('that claims as many values without width as it has bytes, again and again, costs nothing', () => {
    const arrays = 200
    const u32 = (value: number) => value.toString(16).padStart(8, '0')
    const array = ` f0 00000005 ${u32(arrays * 10)} 40`
    const hostile = `00 53 74 d1 ${u32(arrays * 10 + 4)} ${u32(arrays)}${array.repeat(arrays)}`
    assert.deepEqual({ ...read(hostile, data).headers }, {})
  })

  test('with a key or an id that refuses to become text is read all the same', () => {
    const refuses = 'c1 0c 02 a1 08 746f537472696e67 40'
    assert.deepEqual(Object.keys(read(`00 53 74 c1 10 02 ${refuses} 41`, data).headers), ['[object Object]'])
    assert.equal(read(`00 53 73 c0 0f 01 ${refuses}`, data).properties.messageId, '[object Object]')
  })

  test("named like a prototype's field does no harm", () => {
    const { headers } = read('00 53 74 c1 0e 02 a1 09 5f5f70726f746f5f5f a1 00', data)
    assert.deepEqual(Object.keys(headers), ['__proto__'])
    assert.equal(Object.getPrototypeOf(headers), null)
    const nested = read(
      '00 53 74 c1 1a 02 a1 01 61 c1 14 02 a1 09 5f5f70726f746f5f5f c1 06 02 a1 01 62 a0 00',
      data,
    )
    const { a } = nested.headers as { a: Record<string, object> }
    assert.deepEqual([Object.getPrototypeOf(a), Object.keys(a)], [null, ['__proto__']])
    assert.equal(Object.getPrototypeOf(Object.values(a)[0]), null)
  })
})

describe('credit', () => {
  const grant = (credit: Credit, bytes: number) => {
    credit.arrived(bytes)
    return credit.more()
  }

  test('opens slowly, and not beyond eight small chunks', () => {
    const credit = new Credit()
    let most = 0
    for (let chunk = 0; chunk < 100; chunk++) {
      grant(credit, 100)
      most = Math.max(most, credit.given)
      if (chunk === 0) assert.equal(credit.given, 2)
    }
    assert.equal(most, 8)
  })

  test('is one chunk at a time when chunks are large, also after a small one', () => {
    const credit = new Credit()
    for (let chunk = 0; chunk < 20; chunk++) {
      grant(credit, chunk === 10 ? 100 : 2_000_000)
      assert.equal(credit.given, 1)
    }
  })
})

describe('frames', () => {
  test('come out whole, however the network cuts them', () => {
    const frames = ['first', 'the second one', 'x'.repeat(1_000)].map(body => sized(body))
    const wire = Buffer.concat(frames)
    for (const step of [1, 2, 3, 7, 100, wire.length]) {
      const splitter = new FrameSplitter()
      const seen: number[] = []
      for (let at = 0; at < wire.length; at += step)
        splitter.add(wire.subarray(at, at + step), frame => seen.push(frame.length))
      assert.deepEqual(seen, [5, 14, 1_000], `in steps of ${step}`)
    }
  })

  test('of a size no frame has are not waited for', () => {
    assert.throws(
      () => new FrameSplitter().add(Buffer.from('HTTP/1.1 400'), () => {}),
      /not RabbitMQ's stream protocol/,
    )
  })
})

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { crc32, gzipSync } from 'node:zlib'
import { Credit } from '../../src/drivers/rabbitmq-stream/credit.ts'
import { toRecords } from '../../src/drivers/rabbitmq-stream/to-records.ts'
import { readAmqpMessage } from '../../src/drivers/rabbitmq-stream/wire/amqp-message.ts'
import { eachRecord, readChunk } from '../../src/drivers/rabbitmq-stream/wire/chunk.ts'
import { FrameSplitter } from '../../src/drivers/rabbitmq-stream/wire/frame-splitter.ts'

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

const listenTo = (read: string[]) => ({
  onRecord: (offset: number, bytes: Buffer) => void read.push(`${offset}${bytes}`),
  onBroken: (offset: number, records: number, _bytes: Buffer, problem: string) =>
    void read.push(`${offset}+${records} broken: ${problem}`),
})

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
      eachRecord(readChunk(mixed, 0)!, from, listenTo(read))
      const all = ['100a', '101b', '102c', '103d', '104e', '105f', '106g', '107h']
      assert.deepEqual(
        read,
        all.filter(one => Number.parseInt(one, 10) >= from),
        `from ${from}`,
      )
    }
  })

  const broken = (bytes: Buffer, from = 0) => {
    const read: string[] = []
    const chunk = readChunk(bytes, 0)!
    let next = Math.max(from, chunk.firstOffset)
    do next = eachRecord(chunk, next, listenTo(read))
    while (next < chunk.firstOffset + chunk.records)
    return { read, next, damaged: chunk.damaged }
  }

  test('with a wrong sum, or cut short, is damaged as a whole', () => {
    const damaged = Buffer.from(mixed)
    damaged[60]! ^= 1
    for (const [bytes, problem] of [
      [damaged, 'its checksum does not match its bytes'],
      [mixed.subarray(0, 70), 'bytes of it are missing'],
    ] as const) {
      const { read, next, damaged: isDamaged } = broken(bytes)
      assert.deepEqual([read.length, next, isDamaged], [1, 108, true])
      assert.match(read[0]!, new RegExp(`^100\\+8 broken: .*${problem}`))
      assert.match(broken(bytes, 103).read[0]!, /^103\+5 broken/, 'from where we read')
    }
    assert.throws(() => readChunk(mixed.subarray(0, 40), 0), /unreadable chunk/)
  })

  test('whose sizes or counts do not fit is broken as a whole: nothing of it is delivered', () => {
    const long = sized('a')
    long.writeUInt32BE(1_000, 0)
    const huge = packed(0, 'b')
    huge.writeUInt32BE(0xffff_ffff, 7)
    for (const [entries, records, problem] of [
      [[long], 1, 'entry 1 of 1 runs 999 bytes past it'],
      [[sized('x'), huge], 2, 'entry 2 of 2 runs 4294967290 bytes past it'],
      [[sized('x'), Buffer.from([0x80, 0])], 2, 'entry 2 of 2 is missing'],
      [[sized('x'), sized('y')], 5, 'its header counts 5 records, its entries 2'],
      [[packed(0, 'x', 'y')], 1, 'its header counts 1 records, its entries 2'],
    ] as const) {
      const { read, next } = broken(chunkOf(100, records, entries))
      assert.deepEqual([read, next], [[`100+${records} broken: ${problem}`], 100 + records])
    }
    const bytesBehind = chunkOf(100, 1, [sized('x'), Buffer.from('more')])
    bytesBehind.writeUInt16BE(1, 2)
    assert.deepEqual(broken(bytesBehind).read, ['100+1 broken: 4 bytes follow its last entry'])
  })

  test('with a broken sub-batch delivers all others, each at its own offset', () => {
    const notGzip = packed(0, 'x', 'y')
    notGzip[0] = 0x90
    const short = packed(0, 'x')
    short.writeUInt16BE(3, 1)
    const more = packed(0, 'x', 'y', 'z')
    more.writeUInt16BE(2, 1)
    const unknown = packed(0, 'x')
    unknown[0] = 0xf0
    const snappy = packed(0, 'x')
    snappy[0] = 0xa0
    for (const [entry, records, problem] of [
      [notGzip, 2, /gzip: incorrect header check/],
      [short, 3, /record 2 of 3 is missing/],
      [more, 2, /5 bytes follow its 2 records/],
      [unknown, 1, /packed with method 7/],
      [snappy, 1, /packed with snappy, which this process cannot unpack/],
    ] as const) {
      const { read, next } = broken(chunkOf(100, records + 2, [sized('a'), entry, packed(1, 'b')]))
      assert.deepEqual([read[0], read[2], next], ['100a', `${101 + records}b`, 102 + records])
      assert.match(read[1]!, problem)
      assert.match(read[1]!, new RegExp(`^101\\+${records} broken`))
    }
  })

  test('allocates no memory for a sub-batch that unpacks to too much, for any declared size', () => {
    const bomb = gzipSync(Buffer.alloc(200 * 1024 * 1024), { level: 9 })
    const entry = (stated: number) =>
      Buffer.concat([Buffer.from([0x90, 0, 1]), u32(stated), u32(bomb.length), bomb])
    const bytes = chunkOf(100, 7, [
      ...Array.from({ length: 6 }, (_, index) => entry(index % 2 ? 10 : 2 ** 31)),
      sized('z'),
    ])
    const before = process.memoryUsage().arrayBuffers
    const { read } = broken(bytes)
    assert.ok(process.memoryUsage().arrayBuffers - before < 200 * 1024 * 1024)
    assert.match(read[0]!, /declares 2147483648 unpacked bytes, limit/)
    assert.match(read[1]!, /unpacks to more than 67108864 bytes/)
    assert.equal(read[6], '106z')
  })

  test('that unpacks to a large size is read in portions', () => {
    const batch = (letter: string) => packed(1, letter.repeat(3_000_000), letter)
    const chunk = readChunk(chunkOf(100, 9, [batch('a'), batch('b'), batch('c'), batch('d'), sized('e')]), 0)!
    const portions: string[][] = []
    for (let from = 100; from < 109; ) {
      const { records, next } = toRecords(chunk, 's', from, 0)
      portions.push(records.map(({ at, body }) => `${at}${body.toString()[0]}`))
      from = next
    }
    assert.deepEqual(portions, [
      ['100a', '101a'],
      ['102b', '103b'],
      ['104c', '105c'],
      ['106d', '107d', '108e'],
    ])
  })

  const megabyte = 1024 * 1024

  /** Offsets of the portions, and how much of the chunk each has unpacked. */
  function portionsOf(entries: readonly Buffer[]) {
    const chunk = readChunk(chunkOf(0, entries.length, entries), 0)!
    const portions: { next: number; unpacked: number }[] = []
    for (let from = 0; from < entries.length; ) {
      const { records, next } = toRecords(chunk, 's', from, 0)
      portions.push({ next, unpacked: records.reduce((sum, { body }) => sum + body.length, 0) })
      from = next
    }
    return portions
  }

  test('never has more unpacked at once than the bound, for any declared sizes', () => {
    const large = packed(1, 'x'.repeat(63 * megabyte))
    const small = packed(1, 'x'.repeat(3 * megabyte))
    for (const says of [u32(63 * megabyte), u32(10)]) {
      const lying = Buffer.from(large)
      says.copy(lying, 3)
      const portions = portionsOf([small, lying, small])
      assert.deepEqual(
        portions.map(({ next }) => next),
        [1, 2, 3],
      )
      for (const { unpacked } of portions) assert.ok(unpacked <= 64 * megabyte, `${unpacked}`)
    }
  })

  test('unpacks empty sub-batches one at a time', () => {
    const tooLarge = packed(1, 'x'.repeat(65 * megabyte))
    u32(10).copy(tooLarge, 3)
    const cut = packed(1, 'x'.repeat(20 * megabyte))
    cut[cut.length - 5]! ^= 1
    const portions = portionsOf([tooLarge, tooLarge, cut, cut, sized('last')])
    assert.deepEqual(
      portions.map(({ next }) => next),
      [1, 2, 3, 5],
    )
  })

  test('of many small sub-batches is read to its end, however much they unpack to', () => {
    const entries = Array.from({ length: 60 }, () => packed(1, 'x'.repeat(3 * megabyte)))
    const portions = portionsOf(entries)
    assert.equal(portions.at(-1)!.next, 60)
    assert.equal(
      portions.reduce((sum, { unpacked }) => sum + unpacked, 0),
      60 * 3 * megabyte,
    )
  })

  test('whose first offset no number can hold exactly is refused', () => {
    const far = Buffer.from(mixed)
    far.writeBigUInt64BE(2n ** 62n, 24)
    assert.throws(() => readChunk(far, 0), /an unreadable chunk/)
  })

  test('that the broker wrote for its own use has no records', () => {
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

  test('that is no AMQP message is a body as a whole', () => {
    for (const hex of [
      '7b7d',
      '',
      '00',
      '00 53 75',
      '00 53 75 a0 05 6869',
      '00 53 99 40',
      '00 53 74 c1 03 02 a1',
      // Sections of the wrong kind: properties that are a number, or nothing; annotations and headers that
      // are no maps.
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

  test('that declares four thousand million values without width costs nothing', () => {
    const hostile = '00 53 74 d1 0000001a 00000002 a1 01 61 f0 00000005 ffffffff 40'
    assert.equal(
      read(hostile, data).body.length,
      Buffer.from((hostile + data).replaceAll(' ', ''), 'hex').length,
    )
  })

  test('that repeatedly declares as many values without width as it has bytes costs nothing', () => {
    const arrays = 200
    const u32 = (value: number) => value.toString(16).padStart(8, '0')
    const array = ` f0 00000005 ${u32(arrays * 10)} 40`
    const hostile = `00 53 74 d1 ${u32(arrays * 10 + 4)} ${u32(arrays)}${array.repeat(arrays)}`
    assert.deepEqual({ ...read(hostile, data).headers }, {})
  })

  test('with a key or an id that cannot be converted to text is still read', () => {
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
  test('are complete, for any split by the network', () => {
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

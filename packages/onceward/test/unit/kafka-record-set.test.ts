import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { compressionsAlgorithms } from '@platformatic/kafka'
import fc from 'fast-check'
import type { Compression } from '../../src/drivers/kafka/client/record-batch.ts'
import { decompressRecords, lz4Size } from '../../src/drivers/kafka/decompress-records.ts'
import {
  decodeRecordSet,
  type RecordSetOptions,
  UnreadableBatch,
} from '../../src/drivers/kafka/record-set.ts'
import { batch, emptied, marker, sealed } from '../kafka/batches.ts'

const plenty = 1 << 30
const read = (parts: readonly Buffer[], options: Partial<RecordSetOptions> = {}) =>
  decodeRecordSet(Buffer.concat(parts), {
    from: 0,
    isolation: 'committed',
    aborted: [],
    bytesMax: plenty,
    ...options,
  })
const shown = (set: ReturnType<typeof read>) => set.records.map(({ offset, value }) => `${offset}:${value}`)
const unreadable = (parts: readonly Buffer[], options: Partial<RecordSetOptions> = {}): UnreadableBatch => {
  try {
    read(parts, options)
  } catch (error) {
    assert.ok(error instanceof UnreadableBatch, String(error))
    return error
  }
  return assert.fail('it was read')
}

describe('a Kafka record set', () => {
  for (const compression of ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as Compression[]) {
    test(`returns every record as it was written, ${compression}`, () => {
      fc.assert(
        fc.property(
          fc.array(
            fc.record({
              key: fc.option(fc.uint8Array({ maxLength: 300 }).map(bytes => Buffer.from(bytes))),
              value: fc.option(fc.uint8Array({ maxLength: 3_000 }).map(bytes => Buffer.from(bytes))),
              headers: fc.array(
                fc.tuple(fc.string(), fc.option(fc.uint8Array().map(bytes => Buffer.from(bytes)))),
                { maxLength: 4 },
              ),
              timestampMs: fc.integer({ min: 0, max: 2 ** 45 }),
            }),
            { minLength: 1, maxLength: 20 },
          ),
          fc.integer({ min: 0, max: 2 ** 50 }),
          (records, base) => {
            const set = read([batch(records, { base, compression })], { from: base })
            assert.equal(set.next, base + records.length)
            assert.deepEqual(
              set.records.map(({ key, value, headers, timestampMs, offset }) => ({
                key,
                value,
                headers,
                timestampMs,
                offset,
              })),
              records.map((record, index) => ({ ...record, offset: base + index })),
            )
          },
        ),
        { numRuns: 60 },
      )
    })
  }

  test('leaves out earlier records and incomplete ones', () => {
    const [first, second] = [batch(['a', 'b', 'c']), batch(['d'], { base: 3 })]
    const set = read([first, second.subarray(0, second.length - 1)], { from: 1 })
    assert.deepEqual(shown(set), ['1:b', '2:c'])
    assert.equal(set.next, 3)
  })

  test('reads on past markers and emptied batches, and over the gaps of compaction', () => {
    const set = read([batch(['a']), emptied(1, 4), batch(['b'], { base: 9 }), marker('commit', { base: 10 })])
    assert.deepEqual(shown(set), ['0:a', '9:b'])
    assert.equal(set.next, 11)
  })

  test('reports where leader epochs begin', () => {
    const set = read([
      batch(['a'], { leaderEpoch: 3 }),
      batch(['b'], { base: 1, leaderEpoch: 3 }),
      batch(['c'], { base: 2, leaderEpoch: 5 }),
    ])
    assert.deepEqual(set.epochs, [
      { epoch: 3, from: 0 },
      { epoch: 5, from: 2 },
    ])
  })

  test('leaves the rest for another fetch once it has enough', () => {
    const parts = [0, 1, 2, 3].map(base => batch(['x'.repeat(1_000)], { base }))
    const set = read(parts, { bytesMax: 1_500 })
    assert.equal(set.next, 2)
    assert.equal(set.cut, true)
  })

  describe('aborted transactions', () => {
    const tx = (value: string, base: number, producerId: number) =>
      batch([value], { base, producerId, transactional: true })

    test('several of one producer in one fetch, between committed ones', () => {
      const parts = [
        tx('gone', 0, 1),
        marker('abort', { base: 1 }),
        tx('kept', 2, 1),
        marker('commit', { base: 3 }),
        tx('gone', 4, 1),
        marker('abort', { base: 5 }),
        batch(['plain'], { base: 6 }),
      ]
      const aborted = [
        { producerId: 1n, firstOffset: 4n },
        { producerId: 1n, firstOffset: 0n },
      ]
      assert.deepEqual(shown(read(parts, { aborted })), ['2:kept', '6:plain'])
      assert.equal(read(parts, { aborted, isolation: 'uncommitted' }).records.length, 4)
    })

    test('whose marker lies beyond the fetch', () => {
      const parts = [tx('gone', 0, 1), tx('kept', 1, 2), tx('gone', 2, 1)]
      const aborted = [{ producerId: 1n, firstOffset: 0n }]
      assert.deepEqual(shown(read(parts, { aborted })), ['1:kept'])
    })

    test('that begin later than a committed one of the same producer in the same fetch', () => {
      const parts = [tx('kept', 0, 1), marker('commit', { base: 1 }), tx('gone', 2, 1)]
      const aborted = [{ producerId: 1n, firstOffset: 2n }]
      assert.deepEqual(shown(read(parts, { aborted })), ['0:kept'])
    })

    test('of an idempotent producer without transactions nothing is dropped', () => {
      const parts = [batch(['kept'], { producerId: 1 })]
      assert.deepEqual(shown(read(parts, { aborted: [{ producerId: 1n, firstOffset: 0n }] })), ['0:kept'])
    })
  })

  describe('damage', () => {
    test('any flipped byte is found, and the records before it are read', () => {
      const good = batch(['a', 'b'])
      fc.assert(
        fc.property(
          fc.integer({ min: 17, max: good.length - 1 }),
          fc.integer({ min: 1, max: 255 }),
          (at, by) => {
            const bad = Buffer.from(batch(['c', 'd'], { base: 2 }))
            bad[at] = bad[at]! ^ by
            const error = unreadable([good, bad, batch(['e'], { base: 4 })])
            assert.equal(error.next, 4)
            assert.deepEqual(shown(error.before), ['0:a', '1:b'])
            assert.equal(error.before.next, 2)
            assert.equal(error.offset, 2)
          },
        ),
      )
    })

    test('no bytes at all crash or hang the reader', () => {
      fc.assert(
        fc.property(fc.uint8Array({ maxLength: 400 }), fc.boolean(), (noise, asBody) => {
          const head = batch(['a']).subarray(0, 61)
          const bytes = asBody ? Buffer.concat([head, noise]) : Buffer.from(noise)
          if (asBody) bytes.writeInt32BE(bytes.length - 12, 8)
          try {
            decodeRecordSet(asBody ? sealed(bytes) : bytes, {
              from: 0,
              isolation: 'committed',
              aborted: [],
              bytesMax: plenty,
            })
          } catch (error) {
            assert.ok(error instanceof UnreadableBatch, String(error))
          }
        }),
        { numRuns: 2_000 },
      )
    })

    test('impossible lengths and counts are refused with the offset to continue at', () => {
      const patched = (patch: (bytes: Buffer) => void) => {
        const bytes = batch(['abc'], { base: 7 })
        patch(bytes)
        return sealed(bytes)
      }
      const huge = patched(bytes => bytes.writeInt32BE(2 ** 31 - 1, 57))
      assert.equal(unreadable([huge], { from: 7 }).next, 8)
      const long = patched(bytes => bytes.writeUInt8(126, 61))
      assert.match(unreadable([long], { from: 7 }).message, /record of 63 bytes/)
      const old = patched(bytes => bytes.writeInt8(1, 16))
      assert.equal(unreadable([old]).next, null)
      const partial = batch(['abc'])
      partial.writeInt32BE(2 ** 30, 8)
      assert.match(unreadable([partial]).message, /in a record set of/)
    })
  })

  describe('bombs', () => {
    const zeros = Buffer.alloc(50 * 1024 * 1024)
    const packed = {
      gzip: [1, gzipSync(zeros)],
      snappy: [2, compressionsAlgorithms.snappy.compressSync(zeros)],
      lz4: [3, compressionsAlgorithms.lz4.compressSync(zeros)],
      zstd: [4, zstdCompressSync(zeros)],
    } as const
    for (const [name, [codec, bytes]] of Object.entries(packed)) {
      test(`${name} is stopped at the limit and read below it`, () => {
        assert.throws(() => decompressRecords(codec, bytes as Buffer, 1024 * 1024))
        assert.ok(decompressRecords(codec, bytes as Buffer, zeros.length).equals(zeros))
      })
    }

    test('the size of an LZ4 frame is known without writing it', () => {
      fc.assert(
        fc.property(
          fc.uint8Array({ minLength: 1, maxLength: 5_000 }),
          fc.integer({ min: 1, max: 400 }),
          (some, times) => {
            const whole = Buffer.concat(Array.from({ length: times }, () => some))
            assert.equal(lz4Size(compressionsAlgorithms.lz4.compressSync(whole) as Buffer), whole.length)
          },
        ),
      )
    })
  })
})

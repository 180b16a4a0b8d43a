import assert from 'node:assert/strict'
import { Reader } from '@platformatic/kafka'
import type { Compression } from '../../../src/drivers/kafka/client/record-batch.ts'
import { decompressRecords } from '../../../src/drivers/kafka/decompress-records.ts'
import { parseFetch } from '../../../src/drivers/kafka/fetch-response.ts'
import { keyBytes } from '../../../src/drivers/kafka/key-bytes.ts'
import { decodeRecordSet, UnreadableBatch } from '../../../src/drivers/kafka/record-set.ts'
import { toLogRecord } from '../../../src/drivers/kafka/to-log-record.ts'
import { batch, emptied, marker, sealed } from '../../kafka/batches.ts'
import { orRefused, type Target } from '../target.ts'

const compressions: Compression[] = ['none', 'gzip', 'snappy', 'lz4', 'zstd']
const record = {
  key: Buffer.from([0xff, 1]),
  value: Buffer.from('{"id":"a"}'),
  headers: [
    ['h', Buffer.from('v')],
    ['n', null],
  ] as const,
  timestampMs: 1_000,
}

/** Gives every batch its length and checksum, so that varied records are reached. */
function mend(bytes: Buffer): Buffer {
  const end = bytes.length
  if (end < 61) return bytes
  const mended = Buffer.from(bytes)
  mended.writeInt32BE(end - 12, 8)
  mended[16] = 2
  return sealed(mended)
}

const batches = [
  ...compressions.map(compression => batch(['one', null, record], { base: 5, compression })),
  batch([record, record], { base: 0, producerId: 1, transactional: true }),
  marker('abort', { base: 2 }),
  emptied(3, 4),
]

/** The first byte says how the rest is read. */
const recordSets: Target = {
  name: 'kafka record sets',
  kind: 'bytes',
  seeds: [...batches, Buffer.concat(batches.slice(0, 2))].map(one => Buffer.concat([Buffer.of(1), one])),
  check(input) {
    const how = input[0] ?? 0
    const bytes = (how & 1) === 1 ? mend(input.subarray(1)) : input.subarray(1)
    const options = {
      from: (how >> 2) & 7,
      isolation: (how & 2) === 0 ? ('committed' as const) : ('uncommitted' as const),
      aborted: [{ producerId: 1n, firstOffset: 0n }],
      bytesMax: 1 << 20,
    }
    const set = orRefused(
      () => decodeRecordSet(bytes, options),
      error => error instanceof UnreadableBatch,
    )
    if (set === null) return
    assert.ok(set.next >= options.from)
    for (const raw of set.records) {
      assert.ok(raw.offset >= options.from && raw.offset < set.next, `offset ${raw.offset}`)
      const { key, headers } = toLogRecord(raw, 'topic/0', false)
      assert.equal(Object.getPrototypeOf(headers), null)
      assert.deepEqual(keyBytes(key), raw.key)
    }
  },
}

const compressed: Target = {
  name: 'kafka compression',
  kind: 'bytes',
  seeds: compressions.slice(1).map((compression, index) => {
    const one = batch(['a'.repeat(200), record], { compression })
    return Buffer.concat([Buffer.of(index + 1), one.subarray(61)])
  }),
  check(input) {
    const bytesMax = 1 << 20
    const records = orRefused(
      () => decompressRecords((input[0] ?? 0) % 6, input.subarray(1), bytesMax),
      () => true,
    )
    if (records !== null) assert.ok(records.length <= bytesMax, `${records.length} bytes`)
  },
}

const one = Buffer.concat([
  Buffer.alloc(11),
  Buffer.of(2),
  Buffer.alloc(16, 7),
  Buffer.of(2),
  Buffer.alloc(31),
  Buffer.of(1, 0, 4, 9, 9, 9, 0, 0),
])

const fetches: Target = {
  name: 'kafka fetch responses',
  kind: 'bytes',
  seeds: [one, Buffer.concat([one.subarray(0, 60), Buffer.from('ffffffff0f', 'hex')]), Buffer.alloc(40)],
  check(input) {
    const answer = orRefused(
      () => parseFetch(Reader.from(input)),
      error => error instanceof RangeError,
    )
    if (answer !== null) assert.ok(answer.partitions.length <= input.length)
  },
}

export const kafkaTargets = [recordSets, compressed, fetches]

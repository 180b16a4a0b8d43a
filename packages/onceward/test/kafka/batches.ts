import { crc32c } from '@platformatic/kafka'
import {
  type Compression,
  encodeRecordBatch,
  type OutgoingRecord,
} from '../../src/drivers/kafka/client/record-batch.ts'

export interface BatchOptions {
  readonly base?: number
  readonly producerId?: number
  readonly transactional?: boolean
  readonly compression?: Compression
  readonly leaderEpoch?: number
}

const record = (value: string | null): OutgoingRecord => ({
  key: null,
  value: value === null ? null : Buffer.from(value),
  headers: [],
  timestampMs: 1_000,
})

/** A batch as a broker would store it. */
export function batch(
  values: readonly (string | null | OutgoingRecord)[],
  options: BatchOptions = {},
): Buffer {
  const { base = 0, producerId = -1, transactional = false, compression = 'none', leaderEpoch = 0 } = options
  const records = values.map(value => (value === null || typeof value === 'string' ? record(value) : value))
  const identity = { producerId: BigInt(producerId), producerEpoch: 0, sequence: 0, transactional }
  const bytes = encodeRecordBatch(records, identity, compression)
  bytes.writeBigInt64BE(BigInt(base), 0)
  bytes.writeInt32BE(leaderEpoch, 12)
  return bytes
}

/** The end of a transaction. */
export function marker(kind: 'abort' | 'commit', { base = 0, producerId = 1 }: BatchOptions = {}): Buffer {
  const key = Buffer.from([0, 0, 0, kind === 'abort' ? 0 : 1])
  const control = { key, value: Buffer.alloc(6), headers: [], timestampMs: 1_000 }
  const bytes = batch([control], { base, producerId, transactional: true })
  bytes.writeInt16BE(bytes.readInt16BE(21) | 32, 21)
  return sealed(bytes)
}

/** What cleaning leaves of a batch whose records are all superseded. */
export function emptied(base: number, lastDelta: number, producerId = 5): Buffer {
  const bytes = batch(['x'], { base, producerId }).subarray(0, 61)
  const header = Buffer.from(bytes)
  header.writeInt32BE(61 - 12, 8)
  header.writeInt32BE(lastDelta, 23)
  header.writeInt32BE(0, 57)
  return sealed(header)
}

/** With the checksum of its present bytes. */
export function sealed(bytes: Buffer): Buffer {
  bytes.writeUInt32BE(crc32c(bytes.subarray(21)) >>> 0, 17)
  return bytes
}

import { compressionsAlgorithms, crc32c } from './wire.ts'

/** A record to send. A null value is a tombstone. */
export interface OutgoingRecord {
  readonly key: Buffer | null
  readonly value: Buffer | null
  /** In order; a name may repeat. */
  readonly headers: readonly (readonly [name: string, value: Buffer | null])[]
  readonly timestampMs: number
}

export type Compression = 'none' | 'gzip' | 'snappy' | 'lz4' | 'zstd'

export interface BatchIdentity {
  readonly producerId: bigint
  readonly producerEpoch: number
  /** Sequence of the first record. */
  readonly sequence: number
  readonly transactional: boolean
}

const headerBytes = 61
const crcAt = 17
const checkedFrom = 21

/** Encodes a record batch of format 2, as a broker stores it. */
export function encodeRecordBatch(
  records: readonly OutgoingRecord[],
  { producerId, producerEpoch, sequence, transactional }: BatchIdentity,
  compression: Compression = 'none',
): Buffer {
  const firstMs = records[0]!.timestampMs
  const body = compressionsAlgorithms[compression].compressSync(encodeRecords(records, firstMs)) as Buffer
  const batch = Buffer.allocUnsafe(headerBytes + body.length)
  batch.writeBigInt64BE(0n, 0)
  batch.writeInt32BE(batch.length - 12, 8)
  batch.writeInt32BE(-1, 12)
  batch.writeInt8(2, 16)
  batch.writeInt16BE(compressionsAlgorithms[compression].bitmask | (transactional ? 1 << 4 : 0), checkedFrom)
  batch.writeInt32BE(records.length - 1, 23)
  batch.writeBigInt64BE(BigInt(firstMs), 27)
  batch.writeBigInt64BE(BigInt(records.reduce((most, { timestampMs }) => Math.max(most, timestampMs), 0)), 35)
  batch.writeBigInt64BE(producerId, 43)
  batch.writeInt16BE(producerEpoch, 51)
  batch.writeInt32BE(sequence, 53)
  batch.writeInt32BE(records.length, 57)
  body.copy(batch, headerBytes)
  batch.writeUInt32BE(crc32c(batch.subarray(checkedFrom)) >>> 0, crcAt)
  return batch
}

/** Upper bound of a record's size before compression. */
export function recordBytes({ key, value, headers }: OutgoingRecord): number {
  let bytes = 32 + (key?.length ?? 0) + (value?.length ?? 0)
  for (const [name, header] of headers) bytes += 10 + name.length * 3 + (header?.length ?? 0)
  return bytes
}

/** Size of an uncompressed batch with this record alone. */
export function batchBytes(record: OutgoingRecord): number {
  return headerBytes + encodeRecords([record], record.timestampMs).length
}

function encodeRecords(records: readonly OutgoingRecord[], firstMs: number): Buffer {
  const room = records.reduce((bytes, record) => bytes + recordBytes(record), 0)
  const into = new Bytes(Buffer.allocUnsafe(room))
  records.forEach((record, index) => {
    const one = new Bytes(Buffer.allocUnsafe(recordBytes(record)))
    one.int8(0)
    one.varint(record.timestampMs - firstMs)
    one.varint(index)
    one.bytes(record.key)
    one.bytes(record.value)
    one.varint(record.headers.length)
    for (const [name, value] of record.headers) {
      one.bytes(Buffer.from(name))
      one.bytes(value)
    }
    into.bytes(one.written)
  })
  return into.written
}

/** Appends Kafka's zigzag varints and length-prefixed bytes. */
class Bytes {
  readonly #buffer: Buffer
  #at = 0

  constructor(buffer: Buffer) {
    this.#buffer = buffer
  }

  get written(): Buffer {
    return this.#buffer.subarray(0, this.#at)
  }

  int8(value: number): void {
    this.#at = this.#buffer.writeInt8(value, this.#at)
  }

  /** Any safe integer up to 2^52: a difference of timestamps needs more than 32 bits. */
  varint(value: number): void {
    let rest = value >= 0 ? value * 2 : -value * 2 - 1
    for (; rest > 127; rest = Math.floor(rest / 128)) this.#buffer[this.#at++] = (rest % 128) | 128
    this.#buffer[this.#at++] = rest
  }

  bytes(value: Buffer | null): void {
    if (value === null) return this.varint(-1)
    this.varint(value.length)
    this.#at += value.copy(this.#buffer, this.#at)
  }
}

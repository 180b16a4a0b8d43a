import { crc32c } from './client/wire.ts'
import { decompressRecords } from './decompress-records.ts'
import type { AbortedTransaction } from './fetch-response.ts'
import type { RawRecord } from './raw-record.ts'
import { RecordReader } from './record-reader.ts'

export interface RecordSetOptions {
  /** Records before this offset are omitted, because a leader answers in whole batches. */
  readonly from: number
  readonly isolation: 'committed' | 'uncommitted'
  readonly aborted: readonly AbortedTransaction[]
  /** Decoded bytes after which the rest of the set is left for another fetch. */
  readonly bytesMax: number
}

export interface RecordSet {
  readonly records: readonly RawRecord[]
  /** The next offset to read: after the last decoded batch, including batches without visible records. */
  readonly next: number
  /** Where leader epochs begin among the batches, in order. */
  readonly epochs: readonly { readonly epoch: number; readonly from: number }[]
  /** True when `bytesMax` cut the set. */
  readonly cut: boolean
}

/** A batch that cannot be decoded, damaged in transit or in the log. The batches before it were decoded. */
export class UnreadableBatch extends Error {
  override readonly name = 'UnreadableBatch'
  /** The reading position before the batch. */
  readonly offset: number
  /** Where the log continues after the batch; null when that cannot be determined. */
  readonly next: number | null
  /** The records before the batch. */
  readonly before: RecordSet
  /** The raw bytes of the batch. */
  readonly bytes: Buffer

  constructor(reason: string, offset: number, next: number | null, before: RecordSet, bytes: Buffer) {
    super(reason)
    this.offset = offset
    this.next = next
    this.before = before
    this.bytes = bytes
  }
}

const headerBytes = 61
const [compressionBits, createTimeBit, transactionalBit, controlBit] = [7, 8, 16, 32]

/**
 * Decodes batches in order; a partial one at the end is left for the next fetch.
 *
 * Aborted transactions: a producer's id joins the aborted ones at the first batch that reaches the
 * transaction's first offset, and leaves them at its abort marker. One producer may abort several times
 * within a fetch, and the marker may lie beyond it. Keeping one range per producer delivered 46 to 57 of 57
 * aborted records.
 */
export function decodeRecordSet(bytes: Buffer, options: RecordSetOptions): RecordSet {
  const records: RawRecord[] = []
  const epochs: { epoch: number; from: number }[] = []
  const aborting = new AbortedProducers(options)
  let next = options.from
  let decodedBytes = 0
  const sofar = (cut: boolean): RecordSet => ({ records, next, epochs, cut })

  for (let start = 0; bytes.length - start >= headerBytes; ) {
    const end = start + 12 + bytes.readInt32BE(start + 8)
    if (end > bytes.length && start > 0) break
    if (decodedBytes >= options.bytesMax) return sofar(true)
    const unreadable = (reason: string, after: number | null) =>
      new UnreadableBatch(reason, next, after, sofar(false), bytes.subarray(start, Math.max(start, end)))
    const problem = headerProblem(bytes, start, end)
    if (problem !== null) throw unreadable(problem, soundBaseAt(bytes, end, next))
    const base = baseOf(bytes, start)
    const last = base + bytes.readInt32BE(start + 23)
    const batch: Batch = { bytes, start, end, base, attributes: bytes.readInt16BE(start + 21) }
    try {
      const wanted = aborting.isWanted(batch, last) && last >= options.from
      if (wanted) decodedBytes += decodeBatch(batch, options.from, records)
    } catch (error) {
      throw unreadable(`${(error as Error).message}`, last + 1)
    }
    const epoch = bytes.readInt32BE(start + 12)
    if (epochs.at(-1)?.epoch !== epoch) epochs.push({ epoch, from: base })
    next = Math.max(next, last + 1)
    start = end
  }
  return sofar(false)
}

interface Batch {
  readonly bytes: Buffer
  readonly start: number
  readonly end: number
  readonly base: number
  readonly attributes: number
}

function baseOf(bytes: Buffer, start: number): number {
  return Number(bytes.readBigInt64BE(start))
}

function headerProblem(bytes: Buffer, start: number, end: number): string | null {
  if (end < start + headerBytes) return `a batch of ${end - start} bytes`
  if (end > bytes.length) return `a batch of ${end - start} bytes in a record set of ${bytes.length}`
  if (bytes[start + 16] !== 2) return `a batch of format ${bytes[start + 16]}, of which only 2 is known`
  if (bytes.readUInt32BE(start + 17) !== crc32c(bytes.subarray(start + 21, end)))
    return 'a batch whose checksum does not match its bytes'
  const base = baseOf(bytes, start)
  if (base < 0 || !Number.isSafeInteger(base)) return `a batch at offset ${base}`
  const lastDelta = bytes.readInt32BE(start + 23)
  return lastDelta < 0 ? `a batch with a last offset delta of ${lastDelta}` : null
}

/**
 * Where reading could resume after a batch with a damaged header: at the next batch, if that one is valid.
 */
function soundBaseAt(bytes: Buffer, start: number, after: number): number | null {
  if (start <= 0 || bytes.length - start < headerBytes) return null
  const end = start + 12 + bytes.readInt32BE(start + 8)
  if (headerProblem(bytes, start, end) !== null) return null
  const base = baseOf(bytes, start)
  return base > after ? base : null
}

class AbortedProducers {
  readonly #isolation: 'committed' | 'uncommitted'
  readonly #pending: readonly AbortedTransaction[]
  #taken = 0
  readonly #ids = new Set<bigint>()

  constructor({ isolation, aborted }: Pick<RecordSetOptions, 'isolation' | 'aborted'>) {
    this.#isolation = isolation
    this.#pending = [...aborted].sort((a, b) => (a.firstOffset < b.firstOffset ? -1 : 1))
  }

  /** Called with every batch, in order. */
  isWanted({ bytes, start, end, attributes }: Batch, last: number): boolean {
    const producer = bytes.readBigInt64BE(start + 43)
    while (this.#taken < this.#pending.length && this.#pending[this.#taken]!.firstOffset <= last) {
      this.#ids.add(this.#pending[this.#taken++]!.producerId)
    }
    if ((attributes & controlBit) !== 0) {
      if (isAbortMarker(bytes, start, end)) this.#ids.delete(producer)
      return false
    }
    const filtered = this.#isolation === 'committed' && (attributes & transactionalBit) !== 0
    return !(filtered && this.#ids.has(producer))
  }
}

/** A control record's key: version, then type, where 0 is abort and 1 is commit. */
function isAbortMarker(bytes: Buffer, start: number, end: number): boolean {
  if (bytes.readInt32BE(start + 57) < 1) return false
  const key = new RecordReader(bytes, start + headerBytes, end).read(0, 0, null).key
  return key !== null && key.length >= 4 && key.readInt16BE(2) === 0
}

/** Returns the number of decoded bytes. */
function decodeBatch(
  { bytes, start, end, base, attributes }: Batch,
  from: number,
  into: RawRecord[],
): number {
  const count = bytes.readInt32BE(start + 57)
  const first = Number(bytes.readBigInt64BE(start + 27))
  const appendedMs = (attributes & createTimeBit) === 0 ? null : Number(bytes.readBigInt64BE(start + 35))
  const codec = attributes & compressionBits
  const packed = codec !== 0
  const body = packed ? decompressRecords(codec, bytes.subarray(start + headerBytes, end)) : bytes
  const reader = new RecordReader(body, packed ? 0 : start + headerBytes, packed ? body.length : end)
  const lastDelta = bytes.readInt32BE(start + 23)
  const size = reader.remaining
  if (count < 0 || count > size) throw new RangeError(`${count} records in ${size} bytes`)
  const decoded: RawRecord[] = []
  for (let index = 0, previous = -1; index < count; index++) {
    const record = reader.read(base, first, appendedMs)
    const delta = record.offset - base
    if (delta <= previous || delta > lastDelta)
      throw new RangeError(`offset ${record.offset} out of its batch`)
    previous = delta
    if (record.offset >= from) decoded.push(record)
  }
  if (reader.remaining > 0) throw new RangeError(`${reader.remaining} bytes after the last record`)
  for (const record of decoded) into.push(record)
  return size
}

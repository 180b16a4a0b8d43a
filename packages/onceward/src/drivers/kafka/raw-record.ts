export type RawHeader = readonly [name: string, value: Buffer | null]

/**
 * A record as the log keeps it. Thousands of them are read ahead and outlive a garbage collection or two, so
 * each is little more than its value; the key is cut out for whoever asks.
 */
export class RawRecord {
  readonly offset: number
  readonly timestampMs: number
  /** Null is a tombstone. */
  readonly value: Buffer | null
  /** In the order of the producer; names may repeat. */
  readonly headers: readonly RawHeader[]
  readonly #bytes: Buffer
  readonly #keyAt: number
  readonly #keyLength: number

  /** The key is `keyLength` of the bytes from `keyAt` on; less than none is no key. */
  constructor(
    offset: number,
    timestampMs: number,
    value: Buffer | null,
    headers: readonly RawHeader[],
    bytes: Buffer,
    keyAt: number,
    keyLength: number,
  ) {
    this.offset = offset
    this.timestampMs = timestampMs
    this.value = value
    this.headers = headers
    this.#bytes = bytes
    this.#keyAt = keyAt
    this.#keyLength = keyLength
  }

  get key(): Buffer | null {
    return this.#keyLength < 0 ? null : this.#bytes.subarray(this.#keyAt, this.#keyAt + this.#keyLength)
  }
}

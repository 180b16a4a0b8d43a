export type RawHeader = readonly [name: string, value: Buffer | null]

/**
 * A record as stored in the log. The client reads thousands ahead and they survive garbage collections, so
 * each holds little more than its value. The key is extracted on access.
 */
export class RawRecord {
  readonly offset: number
  readonly timestampMs: number
  /** Null is a tombstone. */
  readonly value: Buffer | null
  /** In the producer's order; names may repeat. */
  readonly headers: readonly RawHeader[]
  readonly #bytes: Buffer
  readonly #keyAt: number
  readonly #keyLength: number

  /** The key is `keyLength` bytes from `keyAt`; a negative length means no key. */
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

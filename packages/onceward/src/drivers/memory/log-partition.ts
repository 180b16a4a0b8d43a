import type { MemoryMessage } from './source.ts'

export interface StoredRecord {
  readonly offset: number
  readonly message: MemoryMessage
  readonly timestampMs: number | null
}

/** One partition of a log in memory: records by offset, with holes where compaction removed some. */
export class MemoryPartition {
  readonly name: string
  #records: StoredRecord[] = []
  #start = 0
  #end = 0

  constructor(name: string) {
    this.name = name
  }

  /** The lowest offset that may still be read. */
  get start(): number {
    return this.#start
  }

  /** The offset the next record will get. */
  get end(): number {
    return this.#end
  }

  append(message: MemoryMessage): void {
    const timestampMs = message.properties?.timestampMs ?? null
    this.#records.push({ offset: this.#end++, message, timestampMs })
  }

  /** Records from an offset on, and the position after them. */
  read(from: number, max: number): { readonly records: readonly StoredRecord[]; readonly next: number } {
    const first = this.#indexOf(from)
    const records = this.#records.slice(first, first + max)
    const atEnd = first + records.length === this.#records.length
    return { records, next: atEnd ? Math.max(this.#end, from) : records.at(-1)!.offset + 1 }
  }

  /** How many records have this offset or a higher one. */
  countFrom(offset: number): number {
    return this.#records.length - this.#indexOf(offset)
  }

  /** Retention: everything before the offset is gone. */
  expire(before: number): void {
    this.#start = Math.max(this.#start, before)
    this.#end = Math.max(this.#end, before)
    this.#records = this.#records.filter(({ offset }) => offset >= before)
  }

  /** Compaction: the records are gone, their offsets stay. */
  compact(goes: (record: StoredRecord) => boolean): void {
    this.#records = this.#records.filter(record => !goes(record))
  }

  /** An unclean election: the end is gone, and its offsets are reused. */
  cutBack(end: number): void {
    this.#records = this.#records.filter(({ offset }) => offset < end)
    this.#end = end
    this.#start = Math.min(this.#start, end)
  }

  #indexOf(from: number): number {
    let low = 0
    for (let high = this.#records.length; low < high; ) {
      const middle = (low + high) >> 1
      if (this.#records[middle]!.offset < from) low = middle + 1
      else high = middle
    }
    return low
  }
}

import type { LogOptions, Position, Progress } from '../../ports/source.ts'

/** One delivered record: the private token of its delivery. */
export interface Entry {
  readonly progress: PartitionProgress
  /** The position after it. Grows when records follow that are not delivered. */
  next: string
  readonly bytes: number
  readonly timestampMs: number | null
  /** Written by its progress alone. */
  settled: boolean
  /**
   * Called when it stays while its neighbours are removed: it copies its bytes out of their common buffer.
   */
  keepApart?(): void
}

/** Batches between two positions that the store records in addition to the broker. */
const rememberEvery = 64

/** Settled records behind an unfinished one are merged above this number of entries, or of bytes. */
const looseMax = 256
const looseBytesMax = 1024 * 1024

/** Entries that a transaction decides. */
export type Done = Pick<ReadonlySet<Entry>, 'has'>

/**
 * The progress of one owned partition. It knows only the delivered records, in the order of delivery: offsets
 * that compaction, markers and aborted transactions left out are not waited for. The position is where
 * reading continues when everything before it is settled.
 *
 *   delivered     100  101  103  104        (102 was compacted)
 *   settled       100       103  104
 *   position           101                  no position past 101 may be committed
 */
export class PartitionProgress {
  readonly partition: string
  readonly epoch: number
  readonly incarnation: string
  #live = true
  #position: string
  #stored: string
  #written: string | null = null
  #entries: Entry[] = []
  #head = 0
  #unsettled = 0
  #bytes = 0
  #looseBytes = 0
  #unremembered = 0
  #remember = ''

  constructor(partition: string, epoch: number, { incarnation, next }: Position) {
    this.partition = partition
    this.epoch = epoch
    this.incarnation = incarnation
    this.#position = next
    this.#stored = next
  }

  /** False once the partition has another owner: nothing of it is settled any more. */
  get live(): boolean {
    return this.#live
  }

  get position(): string {
    return this.#position
  }

  /** Delivered and not settled. */
  get unsettled(): number {
    return this.#unsettled
  }

  get unsettledBytes(): number {
    return this.#bytes
  }

  /** Timestamp of the lowest unfinished record, or when it was first seen. */
  get oldestMs(): number | null {
    return this.#entries[this.#head]?.timestampMs ?? null
  }

  /** Called in the order of the log. */
  hand(entry: Entry): void {
    this.#entries.push(entry)
    this.#unsettled++
    this.#bytes += entry.bytes
  }

  /**
   * The log continues at `next`, and no record in between is delivered. Call only when all before it has been
   * delivered.
   */
  pass(next: string): void {
    const last = this.#entries.at(-1)
    if (last === undefined) this.#position = next
    else last.next = next
  }

  /**
   * True when it counts: entries of a dead partition and settled ones do not. The position moves with
   * `advance`.
   */
  settle(entry: Entry): boolean {
    if (!this.#live || entry.settled) return false
    entry.settled = true
    this.#unsettled--
    this.#bytes -= entry.bytes
    this.#looseBytes += entry.bytes
    return true
  }

  /** Call after settling what a commit made durable; true when the position moved. */
  advance(): boolean {
    this.confirmStored()
    const from = this.#head
    for (let entry = this.#entries[from]; entry?.settled; entry = this.#entries[this.#head]) {
      this.#looseBytes -= entry.bytes
      this.#head++
    }
    const moved = this.#head > from
    if (moved) this.#position = this.#entries[this.#head - 1]!.next
    if (
      this.#head === this.#entries.length ||
      (this.#head > 1_024 && this.#head * 2 > this.#entries.length)
    ) {
      this.#entries = this.#entries.slice(this.#head)
      this.#head = 0
    } else if (this.#isCrowded) this.#gather()
    return moved
  }

  /**
   * What a transaction that decides `done` has to write: always the proof of ownership, and the position if
   * the store keeps it and this transaction moves it. Only the batch with the lowest unfinished record moves
   * it, so two batches in flight never move it back.
   */
  proposal(done: Done, keeper: LogOptions['progress']): Progress {
    const { partition, epoch, incarnation } = this
    const kept = keeper === 'store' || keeper === 'only'
    const next = kept ? this.#positionWith(done) : this.#position
    if (next === (keeper === 'only' ? this.#stored : this.#position)) {
      return { partition, epoch, incarnation, from: null, next: null }
    }
    this.#written = next
    return { partition, epoch, incarnation, from: keeper === 'only' ? this.#stored : null, next }
  }

  /**
   * The broker keeps the position. The store records it now and then, so that an older copy of the database
   * (a lagging standby, a backup) knows from where to read again. Only settled records count: this
   * transaction commits after them.
   */
  remembered(): Progress {
    const { partition, epoch, incarnation } = this
    const due = ++this.#unremembered >= rememberEvery && this.#remember !== this.#position
    if (!due) return { partition, epoch, incarnation, from: null, next: null }
    this.#unremembered = 0
    this.#remember = this.#position
    return { partition, epoch, incarnation, from: null, next: this.#position }
  }

  /** False when the stored position lags ours, because batches ended out of order. */
  get isStored(): boolean {
    return this.#stored === this.#position
  }

  /** The transaction that wrote the last proposal has committed, or the position was stored separately. */
  confirmStored(position: string | null = this.#written): void {
    this.#stored = position ?? this.#stored
    this.#written = null
  }

  end(): void {
    this.#live = false
    this.#entries = []
    this.#head = 0
    this.#unsettled = 0
    this.#bytes = 0
    this.#looseBytes = 0
  }

  get #isCrowded(): boolean {
    const loose = this.#entries.length - this.#head - this.#unsettled
    return this.#looseBytes > looseBytesMax || loose > Math.max(looseMax, 2 * this.#unsettled)
  }

  /**
   * An unfinished record may keep its place for long, and any number may be settled behind it. Of each run of
   * them only the position after it is kept. When all were kept, a key that stood still for a day kept the
   * whole day in memory.
   */
  #gather(): void {
    const gathered: Entry[] = []
    for (let index = this.#head; index < this.#entries.length; index++) {
      const entry = this.#entries[index]!
      const last = gathered.at(-1)
      if (!entry.settled) {
        entry.keepApart?.()
        gathered.push(entry)
      } else if (last?.settled) last.next = entry.next
      else gathered.push({ progress: this, next: entry.next, bytes: 0, timestampMs: null, settled: true })
    }
    this.#entries = gathered
    this.#head = 0
    this.#looseBytes = 0
  }

  #positionWith(done: Done): string {
    let position = this.#position
    for (let index = this.#head; index < this.#entries.length; index++) {
      const entry = this.#entries[index]!
      if (!entry.settled && !done.has(entry)) break
      position = entry.next
    }
    return position
  }
}

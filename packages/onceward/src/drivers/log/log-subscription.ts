import { OncewardError } from '../../errors.ts'
import type { LogRecord } from '../../ports/log-record.ts'
import type {
  Delivery,
  OpenOptions,
  PartitionLag,
  Progress,
  Stall,
  SubscribedLog,
  Subscription,
} from '../../ports/source.ts'
import { FairRoom } from './fair-room.ts'
import { LogDelivery } from './log-delivery.ts'
import type { Entry, PartitionProgress } from './partition-progress.ts'

/** What a driver does for its subscription. */
export interface LogDriver {
  readonly origin: string
  /** Positions are committed to a broker; otherwise the store keeps them. */
  readonly commitsToBroker?: true
  /**
   * Called after settling, with the partitions whose position moved. Resolves when they are committed, or
   * recorded to be committed soon. Returns how many records were not acknowledged.
   */
  commit(moved: readonly PartitionProgress[]): Promise<{ readonly missed: number }>
  /** Called when a partition can take records again. */
  onRoom(): void
  /** Records in the log after the position; null while unknown. */
  behind(progress: PartitionProgress): number | null
  /** Why no record arrives although some wait; null otherwise. */
  stalled?(): Stall | null
  /** Assigned partitions that are not read yet, to keep the order of keys. */
  waitingPartitions?(): number
  /**
   * Called before records are delivered or reported as live. A driver whose ownership has expired, as after a
   * freeze, drops it here.
   */
  refresh?(): void
  close(): Promise<void>
}

/** Bytes read ahead per partition; above it the partition takes no more. */
const readAheadBytesMax = 1024 * 1024

/**
 * The subscription that every log shares. A driver owns partitions and offers records. The subscription
 * delivers them fairly, counts what is unfinished, and gives the driver the position of each partition.
 */
export class LogSubscription implements Subscription, SubscribedLog {
  readonly log: SubscribedLog = this
  readonly #options: Pick<OpenOptions, 'inFlightMax' | 'inFlightBytesMax' | 'log'>
  readonly #driver: LogDriver
  readonly #owned = new Map<string, Owned>()
  readonly #room: FairRoom
  #turn = 0
  #questions = 0
  #fresh = false
  #failure: { readonly error: unknown } | null = null
  #closed = false
  #waiting: (() => void) | null = null

  constructor(options: Pick<OpenOptions, 'inFlightMax' | 'inFlightBytesMax' | 'log'>, driver: LogDriver) {
    this.#options = options
    this.#driver = driver
    this.#room = new FairRoom(options)
  }

  /** From now on records of this partition may be offered. */
  own(progress: PartitionProgress): void {
    this.#owned.set(progress.partition, { progress, buffer: [], head: 0, bytes: 0, stopped: false })
  }

  progressOf(partition: string): PartitionProgress | undefined {
    return this.#owned.get(partition)?.progress
  }

  get partitions(): readonly PartitionProgress[] {
    return [...this.#owned.values()].map(owned => owned.progress)
  }

  /** True when the partition is assigned, not being revoked, and has room for more records read ahead. */
  wants(partition: string): boolean {
    const owned = this.#owned.get(partition)
    return owned !== undefined && !owned.stopped && owned.bytes < readAheadBytesMax
  }

  /** Records read ahead and not delivered. */
  readAhead(partition: string): number {
    const owned = this.#owned.get(partition)
    return owned === undefined ? 0 : owned.buffer.length - owned.head
  }

  /**
   * Records in the order of the log, then the position from which reading continues, which may be past them.
   * Ignored for a partition that is not assigned.
   */
  offer(progress: PartitionProgress, records: readonly LogRecord[], readOn: string): void {
    const owned = this.#owned.get(progress.partition)
    if (owned?.progress !== progress || owned.stopped) return
    for (const record of records) {
      owned.buffer.push(record)
      owned.bytes += record.body.length + recordOverhead
    }
    const last = owned.head < owned.buffer.length ? owned.buffer.at(-1)! : null
    if (last === null) progress.pass(readOn)
    else last.next = readOn
    if (records.length > 0) this.#wake()
  }

  /** Delivers nothing more and drops what was read ahead; settling continues. */
  stop(partition: string): void {
    const owned = this.#owned.get(partition)
    if (owned === undefined) return
    this.#room.leave(owned.progress)
    Object.assign(owned, { stopped: true, buffer: [], head: 0, bytes: 0 })
    this.#wake()
  }

  /** The partition was lost: its deliveries are dead. */
  drop(partition: string): void {
    const owned = this.#owned.get(partition)
    if (owned === undefined) return
    this.#room.leave(owned.progress)
    owned.progress.end()
    this.#owned.delete(partition)
    this.#wake()
  }

  /** Every receive rejects with this error from now on. */
  fail(error: unknown): void {
    this.#failure ??= { error }
    this.#wake()
  }

  async receive(max: number): Promise<readonly Delivery[]> {
    while (!this.#closed) {
      if (this.#failure !== null) throw this.#failure.error
      const deliveries = this.#take(max)
      if (deliveries.length > 0) return deliveries
      await new Promise<void>(resolve => {
        this.#waiting = resolve
      })
    }
    return []
  }

  settle(deliveries: readonly Delivery[]): Promise<{ readonly missed: number }> {
    const touched = new Set<PartitionProgress>()
    let last: PartitionProgress | null = null
    let missed = 0
    for (const { token } of deliveries) {
      const entry = token as LogDelivery
      const { progress } = entry
      if (!progress.settle(entry)) missed++
      else if (progress !== last) {
        touched.add(progress)
        last = progress
      }
    }
    const moved = [...touched].filter(progress => progress.advance())
    this.#wake()
    if (moved.length === 0) return Promise.resolve({ missed })
    return this.#driver.commit(moved).then(rest => ({ missed: missed + rest.missed }))
  }

  isLive({ token }: Delivery): boolean {
    this.#refresh()
    const { progress, settled } = token as LogDelivery
    return progress.live && !settled && this.#owned.get(progress.partition)?.stopped === false
  }

  progressWith(batch: readonly Delivery[], done: readonly Delivery[]): readonly Progress[] {
    const touched = new Set<PartitionProgress>()
    let last: PartitionProgress | null = null
    for (const { token } of batch) {
      const { progress } = token as LogDelivery
      if (progress !== last) touched.add(progress)
      last = progress
    }
    const gone = [...touched].filter(({ live }) => !live).map(({ partition }) => partition)
    if (gone.length > 0) throw notOurs(gone)
    // Marked rather than put into a set, which would cost as much as delivering the record did.
    const question = ++this.#questions
    for (const { token } of done) (token as LogDelivery).doneIn = question
    const finished = { has: (entry: Entry) => (entry as LogDelivery).doneIn === question }
    const keeper = this.#options.log.progress
    const elsewhere = keeper === 'broker' && this.#driver.commitsToBroker === true
    return [...touched].map(one => (elsewhere ? one.remembered() : one.proposal(finished, keeper)))
  }

  disown(partitions: readonly string[]): void {
    for (const partition of partitions) this.drop(partition)
  }

  stalled(): Stall | null {
    return this.#driver.stalled?.() ?? null
  }

  waitingPartitions(): number {
    return this.#driver.waitingPartitions?.() ?? 0
  }

  lag(): readonly PartitionLag[] {
    return this.partitions.map(progress => ({
      partition: progress.partition,
      behind: this.#driver.behind(progress),
      oldestMs: progress.oldestMs,
    }))
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#wake()
    await this.#driver.close()
    for (const { partition } of this.partitions) this.drop(partition)
  }

  /**
   * Serves the partitions in turn, starting after the one served last. Concurrent batches then share few
   * partitions, and two of them rarely lock the same keys.
   */
  #take(max: number): Delivery[] {
    this.#refresh()
    const deliveries: Delivery[] = []
    const owned = [...this.#owned.values()]
    const first = this.#turn
    this.#room.measure(
      owned.map(({ progress, head, buffer }) => ({ progress, idle: head === buffer.length })),
    )
    for (let step = 0; step < owned.length && deliveries.length < max; step++) {
      const index = (first + step) % owned.length
      const before = deliveries.length
      this.#takeFrom(owned[index]!, max, deliveries)
      if (deliveries.length > before) this.#turn = index + 1
    }
    return deliveries
  }

  #takeFrom(owned: Owned, max: number, into: Delivery[]): void {
    const { progress, buffer } = owned
    if (owned.head === buffer.length) return
    const wanted = this.wants(progress.partition)
    while (owned.head < buffer.length && into.length < max) {
      const record = buffer[owned.head]!
      const bytes = record.body.length
      if (!this.#room.fits(progress, bytes)) break
      owned.head++
      owned.bytes -= bytes + recordOverhead
      this.#room.took(progress, bytes)
      const delivery = new LogDelivery(record, progress, this.#driver.origin)
      progress.hand(delivery)
      into.push(delivery)
    }
    if (owned.head * 2 >= buffer.length) {
      // A log that is always ahead never empties its buffer: delivered records must be removed all the
      // same.
      owned.buffer = buffer.slice(owned.head)
      owned.head = 0
    }
    if (!wanted && this.wants(progress.partition)) this.#driver.onRoom()
  }

  /** Once for all queries of one call, because it reads two clocks. */
  #refresh(): void {
    if (this.#fresh) return
    this.#fresh = true
    queueMicrotask(() => {
      this.#fresh = false
    })
    this.#driver.refresh?.()
  }

  #wake(): void {
    const waiting = this.#waiting
    this.#waiting = null
    waiting?.()
  }
}

/**
 * The epoch may not be raised yet, so the store could not detect it; and a dropped partition has no position
 * to move to.
 */
function notOurs(partitions: readonly string[]): OncewardError {
  return new OncewardError(
    'ownership_lost',
    `${partitions.join(', ')}: not ours any more. Nothing was committed.`,
    {
      details: { partitions },
    },
  )
}

interface Owned {
  readonly progress: PartitionProgress
  buffer: LogRecord[]
  head: number
  bytes: number
  /** Being revoked: nothing more is delivered. */
  stopped: boolean
}

/** The cost of a record beside its body, so that empty records are not free. */
const recordOverhead = 200

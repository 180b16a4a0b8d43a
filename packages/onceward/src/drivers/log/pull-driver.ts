import { errorCode, errorText } from '../../errors.ts'
import type { OpenOptions } from '../../ports/source.ts'
import { type LogDriver, LogSubscription } from './log-subscription.ts'
import type { PartitionProgress } from './partition-progress.ts'
import { Pause } from './pause.ts'
import type { PullOptions, PullReader } from './pull-source.ts'
import { PulledPartition } from './pulled-partition.ts'

/**
 * One subscription of a pull source: finds partitions, runs a reader for each, and stores their positions.
 */
export class PullDriver implements LogDriver {
  readonly subscription: LogSubscription
  readonly #reader: PullReader
  readonly #pull: PullOptions
  readonly #options: OpenOptions
  readonly #partitions = new Map<string, PulledPartition>()
  readonly #pause: Pause
  readonly #storing = new Map<PartitionProgress, Promise<boolean>>()
  #looking: Promise<void> = Promise.resolve()
  #unwatch: (() => void) | null = null
  #listed = false
  #closed = false

  constructor(reader: PullReader, pull: PullOptions, options: OpenOptions) {
    this.#reader = reader
    this.#pull = pull
    this.#options = options
    this.#pause = new Pause(pull.env.timers)
    this.subscription = new LogSubscription(options, this)
  }

  get origin(): string {
    return this.#reader.origin
  }

  start(): void {
    this.#unwatch = this.#reader.watch?.(() => this.#wakeAll()) ?? null
    this.#looking = this.#look()
  }

  /**
   * Stores positions. With `store` and `only` the effect's transaction has done so, unless batches ended out
   * of order.
   */
  async commit(moved: readonly PartitionProgress[]): Promise<{ missed: number }> {
    const { progress: keeper } = this.#options.log
    const behind = moved.filter(one => keeper === 'broker' || keeper === 'first' || !one.isStored)
    const stored = await Promise.all(behind.map(progress => this.#store(progress)))
    for (const { partition } of moved) this.#partitions.get(partition)?.wake()
    return { missed: stored.filter(ok => !ok).length }
  }

  onRoom(): void {
    this.#wakeAll()
  }

  behind({ partition, unsettled }: PartitionProgress): number | null {
    const unread = this.#partitions.get(partition)?.unread ?? null
    return unread === null ? null : unread + this.subscription.readAhead(partition) + unsettled
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#unwatch?.()
    this.#wakeAll()
    await Promise.all([this.#looking, ...[...this.#partitions.values()].map(one => one.close())])
    await Promise.all(this.#storing.values())
    await this.#reader.close()
  }

  async #look(): Promise<void> {
    const { pollMaxMs = 1_000, until } = this.#pull
    while (!this.#closed) {
      try {
        for (const partition of await this.#reader.list()) this.#found(partition)
        this.#listed = true
      } catch (error) {
        if (errorCode(error) === 'configuration') return this.subscription.fail(error)
        this.#options.onEvent({ kind: 'warning', reason: errorText(error) })
      }
      if (until === 'end' && this.#listed) return this.#ended()
      await this.#pause.wait(pollMaxMs)
    }
  }

  #found(partition: string): void {
    if (this.#closed || this.#partitions.has(partition)) return
    const { subscription } = this
    const pulled = new PulledPartition({
      partition,
      subscription,
      reader: this.#reader,
      pull: this.#pull,
      options: this.#options,
      store: progress => this.#store(progress),
      onEnd: () => this.#ended(),
    })
    this.#partitions.set(partition, pulled)
    pulled.start()
  }

  #ended(): void {
    if (!this.#listed || this.#closed || ![...this.#partitions.values()].every(one => one.ended)) return
    const reason =
      this.#partitions.size === 0
        ? `there is nothing to read at ${this.origin}`
        : 'everything there was has been read and settled'
    this.#options.onEvent({ kind: 'ended', reason })
  }

  /** One write at a time for a partition; calls that arrive meanwhile find it done. */
  #store(progress: PartitionProgress): Promise<boolean> {
    const earlier = this.#storing.get(progress) ?? Promise.resolve(true)
    const mine = earlier.then(() => this.#write(progress))
    this.#storing.set(progress, mine)
    void mine.finally(() => {
      if (this.#storing.get(progress) === mine) this.#storing.delete(progress)
    })
    return mine
  }

  async #write(progress: PartitionProgress): Promise<boolean> {
    const { partition, epoch, incarnation, position, isStored } = progress
    if (isStored) return true
    try {
      await this.#options.log.checkpoints.begin(partition, epoch, { incarnation, next: position })
      progress.confirmStored(position)
      return true
    } catch {
      // Another process has it, or the store stays unavailable while we stop: what was not stored is read
      // again.
      if (this.subscription.progressOf(partition) === progress) this.subscription.drop(partition)
      return false
    }
  }

  #wakeAll(): void {
    this.#pause.wake()
    for (const partition of this.#partitions.values()) partition.wake()
  }
}

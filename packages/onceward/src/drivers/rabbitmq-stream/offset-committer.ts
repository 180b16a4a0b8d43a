import type { LogOptions } from '../../ports/source.ts'
import type { PartitionProgress } from '../log/partition-progress.ts'
import { queryOffset, storeOffset } from './wire/commands.ts'
import type { StreamConnection } from './wire/connection.ts'

/** A stored offset is a record in the stream itself, so a position that is only a hint is written rarely. */
const hintEveryMs = 5_000

export interface OffsetCommitterOptions {
  readonly group: string
  readonly log: LogOptions
  /** The connection that reads a partition; null while there is none. */
  readonly connectionOf: (partition: string) => StreamConnection | null
}

/**
 * Stores each partition's progress on the broker: the offset of the last finished record, as RabbitMQ's own
 * clients do. A group can therefore move between them and Onceward. Nothing is stored before the first
 * finished record.
 *
 * One round is in progress at a time; positions that move meanwhile join the next.
 */
export class OffsetCommitter {
  readonly #options: OffsetCommitterOptions
  readonly #moved = new Set<PartitionProgress>()
  #committing: Promise<void> | null = null
  #hint: NodeJS.Timeout | undefined
  #first: Promise<unknown> = Promise.resolve()

  constructor(options: OffsetCommitterOptions) {
    this.#options = options
  }

  async commit(moved: readonly PartitionProgress[]): Promise<{ readonly missed: number }> {
    const { progress } = this.#options.log
    if (progress === 'first') return this.#commitFirst(moved)
    for (const one of moved) this.#moved.add(one)
    if (progress === 'broker') this.#begin()
    else this.#hint ??= setTimeout(() => this.#begin(), hintEveryMs).unref()
    return { missed: 0 }
  }

  /** Resolves when everything that moved so far is stored, or cannot be. Never rejects. */
  async flush(): Promise<void> {
    while (this.#moved.size > 0 || this.#committing !== null) {
      this.#begin()
      await this.#committing
    }
  }

  /** Stores and reads back. False when the connection has ended or another value is found. */
  async confirm(partition: string, next: string): Promise<boolean> {
    const connection = this.#options.connectionOf(partition)
    const offset = BigInt(next) - 1n
    if (connection === null) return false
    if (offset < 0n) return true
    storeOffset(connection, this.#options.group, partition, offset)
    try {
      return (await queryOffset(connection, this.#options.group, partition)) === offset
    } catch {
      return false
    }
  }

  close(): void {
    clearTimeout(this.#hint)
  }

  #begin(): void {
    this.#committing ??= this.#commitAll().finally(() => {
      this.#committing = null
      if (this.#options.log.progress === 'broker' && this.#moved.size > 0) this.#begin()
    })
  }

  async #commitAll(): Promise<void> {
    clearTimeout(this.#hint)
    this.#hint = undefined
    const live = [...this.#moved].filter(one => one.live)
    this.#moved.clear()
    const stored = await Promise.all(live.map(one => this.confirm(one.partition, one.position)))
    if (stored.length > 0) this.#options.log.onPositionCommit?.(stored.every(Boolean))
  }

  /**
   * At most once: the store's fence first, then the broker, both before any effect. One after the other,
   * because the broker accepts a lower offset as readily as a higher one.
   */
  #commitFirst(moved: readonly PartitionProgress[]): Promise<{ readonly missed: number }> {
    const stored = this.#first.then(() => Promise.all(moved.map(one => this.#commitOneFirst(one))))
    this.#first = stored.catch(() => {})
    return stored.then(all => ({ missed: all.filter(one => !one).length }))
  }

  async #commitOneFirst(progress: PartitionProgress): Promise<boolean> {
    const { partition, epoch, incarnation, position: next } = progress
    if (!progress.live) return false
    try {
      await this.#options.log.checkpoints.begin(partition, epoch, { incarnation, next })
    } catch {
      return false
    }
    return progress.live && this.confirm(partition, next)
  }
}

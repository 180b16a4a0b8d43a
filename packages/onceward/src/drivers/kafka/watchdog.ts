import type { Fetcher, KafkaClient } from './client/kafka-client.ts'
import type { PartitionLease } from './committer.ts'

export interface WatchdogOptions {
  readonly client: KafkaClient
  readonly fetcher: Fetcher
  /** The known number of partitions of the topic. */
  readonly partitions: number
  /** Owned partitions with room for records. */
  readonly leases: () => readonly PartitionLease[]
  /** Partitions that are assigned to this member but not read. */
  readonly unread: () => readonly number[]
  /** `isWorse`: the previous restart did not help. */
  readonly onStall: (reason: string, isWorse: boolean) => void
  readonly onPartitions: (before: number, after: number) => void
  readonly lookMs?: number
  readonly stallMs?: number
  readonly describeMs?: number
}

/**
 * Detects stalls: an owned partition with records to read and room for them that makes no progress. Clients
 * have stopped silently before. The owner then restarts the fetcher and reports a warning.
 */
export class Watchdog {
  readonly #options: WatchdogOptions
  readonly #stallMs: number
  readonly #lookMs: number
  readonly #timers: readonly NodeJS.Timeout[]
  readonly #stood = new Map<number, { readonly at: number; readonly sinceMs: number }>()
  #partitions: number
  #stalls = 0

  constructor(options: WatchdogOptions) {
    this.#options = options
    this.#partitions = options.partitions
    this.#stallMs = options.stallMs ?? 30_000
    this.#lookMs = options.lookMs ?? 2_000
    this.#timers = [
      setInterval(() => this.#look(), this.#lookMs),
      setInterval(() => void this.#describe(), options.describeMs ?? 5_000),
    ]
    for (const timer of this.#timers) timer.unref()
  }

  close(): void {
    for (const timer of this.#timers) clearInterval(timer)
  }

  /** Partitions with records to read and no progress since the last look, and for how long. */
  standing(): { readonly partition: number; readonly forMs: number }[] {
    const nowMs = performance.now()
    return [...this.#stood]
      .map(([partition, { sinceMs }]) => ({ partition, forMs: nowMs - sinceMs }))
      .filter(({ partition, forMs }) => partition >= 0 && forMs > 1.5 * this.#lookMs)
  }

  /** How long this partition has been unread, measured from the first look that found it so. */
  unreadMs(partition: number): number {
    const known = this.#stood.get(-1 - partition)
    return known === undefined ? 0 : performance.now() - known.sinceMs
  }

  #look(): void {
    const stalled = [...this.#silent(), ...this.#standing(), ...this.#neverRead()]
    if (stalled.length === 0) return
    this.#stood.clear()
    this.#stalls++
    const seconds = Math.round(this.#stallMs / 1_000)
    this.#options.onStall(
      `no record arrived for ${seconds} s although there are records to read: ${stalled.join(', ')}`,
      this.#stalls > 1,
    )
  }

  *#silent(): Generator<string> {
    for (const { partition, progress } of this.#options.leases()) {
      if (this.#options.fetcher.silentMs(partition) > this.#stallMs) yield progress.partition
    }
  }

  /** Behind the end, without unsettled deliveries, and at the same reading position as before. */
  *#standing(): Generator<string> {
    const { fetcher } = this.#options
    const leases = this.#options.leases()
    const reading = new Set(leases.map(({ partition }) => partition))
    for (const key of this.#stood.keys()) {
      if (key >= 0 && !reading.has(key)) this.#stood.delete(key)
    }
    for (const { partition, progress } of leases) {
      const at = fetcher.positionOf(partition)
      const end = fetcher.endOf(partition)
      const known = this.#stood.get(partition)
      if (at === null || end === null || at >= end || progress.unsettled > 0 || known?.at !== at) {
        this.#note(partition, at ?? -1)
        if (known !== undefined && at !== null && known.at !== at) this.#stalls = 0
      } else if (performance.now() - known.sinceMs > this.#stallMs) yield progress.partition
    }
  }

  *#neverRead(): Generator<string> {
    const unread = new Set(this.#options.unread())
    for (const partition of unread) {
      const known = this.#stood.get(-1 - partition)
      if (known === undefined) this.#note(-1 - partition, -1)
      else if (performance.now() - known.sinceMs > this.#stallMs) yield `partition ${partition}`
    }
    for (const key of this.#stood.keys()) {
      if (key < 0 && !unread.has(-1 - key)) this.#stood.delete(key)
    }
  }

  #note(key: number, at: number): void {
    this.#stood.set(key, { at, sinceMs: performance.now() })
  }

  async #describe(): Promise<void> {
    const facts = await this.#options.client.describe().catch(() => null)
    if (facts === null || facts.partitions === this.#partitions) return
    const before = this.#partitions
    this.#partitions = facts.partitions
    if (facts.partitions > before) this.#options.onPartitions(before, facts.partitions)
  }
}

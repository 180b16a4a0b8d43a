import type { Fetcher, KafkaClient } from './client/kafka-client.ts'
import type { PartitionLease } from './committer.ts'

export interface WatchdogOptions {
  readonly client: KafkaClient
  readonly fetcher: Fetcher
  /** Partitions the topic has, as far as anybody knows. */
  readonly partitions: number
  /** Owned partitions that want records. */
  readonly leases: () => readonly PartitionLease[]
  /** Partitions the group gave us and nobody reads. */
  readonly unread: () => readonly number[]
  /** `isWorse`: the last rebuild did not help. */
  readonly onStall: (reason: string, isWorse: boolean) => void
  readonly onPartitions: (before: number, after: number) => void
  readonly lookMs?: number
  readonly stallMs?: number
  readonly describeMs?: number
}

/**
 * Looks for what should not be: a partition that is ours, has records and room for them, and does not move.
 * Clients have died in silence before; this one is then built anew, and people are told.
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

  /** Partitions that have something to read and have stood still since the last look, and for how long. */
  standing(): { readonly partition: number; readonly forMs: number }[] {
    const nowMs = performance.now()
    return [...this.#stood]
      .map(([partition, { sinceMs }]) => ({ partition, forMs: nowMs - sinceMs }))
      .filter(({ partition, forMs }) => partition >= 0 && forMs > 1.5 * this.#lookMs)
  }

  /** For how long nobody has read this one, as far as was looked. */
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
      `nothing came for ${seconds} s although there is something to read: ${stalled.join(', ')}`,
      this.#stalls > 1,
    )
  }

  *#silent(): Generator<string> {
    for (const { partition, progress } of this.#options.leases()) {
      if (this.#options.fetcher.silentMs(partition) > this.#stallMs) yield progress.partition
    }
  }

  /** Behind the end, nothing handed over that is unfinished, and the place of reading is what it was. */
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

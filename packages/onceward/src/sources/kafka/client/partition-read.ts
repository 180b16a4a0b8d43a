import type { PartitionProgress } from '../../log/partition-progress.ts'

export const fetchBytesMax = 1024 * 1024
const fetchBytesMin = 64 * 1024
const epochsMax = 64

/** Where the reading of one partition stands. */
export class PartitionRead {
  readonly partition: number
  readonly progress: PartitionProgress
  /** The next offset to ask for. */
  offset: number
  /** Offsets below were handed over earlier in this process, or read for it. */
  readonly seenTo: number
  /** The end of what may be handed over, as last heard. */
  end: number | null = null
  inFlight = false
  answeredMs = performance.now()
  /** Reading waits until then, by the steady clock. */
  pausedUntilMs = 0
  /** Something is wrong that only others can decide: nothing is asked until it is added anew. */
  stopped = false
  bytesMax = fetchBytesMax
  /** Times the batch at `offset` could not be read. */
  unreadable = 0
  /** The leader has answered for our place: it is in its log. */
  served = false
  /** Since when the log ends at an offset before ours. */
  short: { readonly end: number; readonly sinceMs: number } | null = null
  /** Times the leader could not place the epoch of what we read last. */
  strangeEpochs = 0
  #epochs: { epoch: number; from: number }[]

  constructor(
    partition: number,
    progress: PartitionProgress,
    start: { readonly offset: number; readonly leaderEpoch: number; readonly seenTo: number },
  ) {
    this.partition = partition
    this.progress = progress
    this.offset = start.offset
    this.seenTo = start.seenTo
    this.#epochs = [{ epoch: start.leaderEpoch, from: 0 }]
  }

  get caughtUp(): boolean {
    return this.end !== null && this.offset >= this.end
  }

  /** Leader epoch of the last record read, -1 when unknown. */
  get lastEpoch(): number {
    return this.#epochs.at(-1)!.epoch
  }

  /** Leader epoch of the record before this offset. */
  epochBefore(offset: number): number {
    return this.#epochs.findLast(({ from }) => from < offset)?.epoch ?? -1
  }

  advance(next: number, epochs: readonly { readonly epoch: number; readonly from: number }[]): void {
    for (const { epoch, from } of epochs) {
      if (epoch !== this.lastEpoch) this.#epochs.push({ epoch, from })
    }
    if (this.#epochs.length > epochsMax) this.#epochs = this.#epochs.slice(-epochsMax)
    if (next > this.offset) {
      this.unreadable = 0
      this.strangeEpochs = 0
      this.short = null
    }
    this.offset = Math.max(this.offset, next)
  }

  /** True once the log has ended at this offset for so long: a leader that has just taken over may not know its end yet. */
  isShortFor(end: number, ms: number): boolean {
    const nowMs = performance.now()
    if (this.short?.end !== end) this.short = { end, sinceMs: nowMs }
    return nowMs - this.short.sinceMs >= ms
  }

  /** Well compressed batches become too much: ask for less of them, and more again once they fit. */
  resize(wasCut: boolean): void {
    this.bytesMax = wasCut
      ? Math.max(fetchBytesMin, this.bytesMax / 2)
      : Math.min(fetchBytesMax, this.bytesMax * 2)
  }
}

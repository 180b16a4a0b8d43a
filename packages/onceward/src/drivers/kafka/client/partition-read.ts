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
  /** The fetch that is under way for it; an answer to another one is not for it any more. */
  question: object | null = null
  answeredMs = performance.now()
  /** Since when the broker owes an answer; null while it owes none. */
  owedSinceMs: number | null = null
  /** Reading waits until then, by the steady clock. */
  pausedUntilMs = 0
  /** Something is wrong that only others can decide: nothing is asked until it is added anew. */
  stopped = false
  bytesMax = fetchBytesMax
  /** Times the batch at `offset` could not be read. */
  unreadable = 0
  /** The leader has answered for our place: it is in its log. */
  served = false
  /** What a leader said of its log that does not fit our place, and since when it has said so. */
  misfit: { readonly said: string; readonly sinceMs: number } | null = null
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
      this.misfit = null
    }
    this.offset = Math.max(this.offset, next)
  }

  /**
   * True once leaders have said the same for so long: one that has just taken over, or was replaced, may not
   * know better yet.
   */
  isSaidFor(said: string, ms: number): boolean {
    const nowMs = performance.now()
    if (this.misfit?.said !== said) this.misfit = { said, sinceMs: nowMs }
    return nowMs - this.misfit.sinceMs >= ms
  }

  /** Well compressed batches become too much: ask for less of them, and more again once they fit. */
  resize(wasCut: boolean): void {
    this.bytesMax = wasCut
      ? Math.max(fetchBytesMin, this.bytesMax / 2)
      : Math.min(fetchBytesMax, this.bytesMax * 2)
  }
}

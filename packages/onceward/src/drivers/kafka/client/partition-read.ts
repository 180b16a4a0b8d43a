import type { PartitionProgress } from '../../log/partition-progress.ts'

export const fetchBytesMax = 1024 * 1024
const fetchBytesMin = 64 * 1024
const epochsMax = 64

/** The state of reading one partition. */
export class PartitionRead {
  readonly partition: number
  readonly progress: PartitionProgress
  /** The next offset to request. */
  offset: number
  /** Offsets below were already delivered or read in this process. */
  readonly seenTo: number
  /** The end of the readable records, as last reported. */
  end: number | null = null
  /** The fetch in progress; answers to any other fetch are ignored. */
  question: object | null = null
  answeredMs = performance.now()
  /** Since when an answer has been due; null when none is. */
  owedSinceMs: number | null = null
  /** Reading is paused until then, by the steady clock. */
  pausedUntilMs = 0
  /** The owner must decide how to continue: nothing is requested until the partition is added again. */
  stopped = false
  bytesMax = fetchBytesMax
  /** Number of times the batch at `offset` could not be decoded. */
  unreadable = 0
  /** The leader has confirmed that its log contains the reading position. */
  served = false
  /** A leader's answer that contradicts the reading position, and since when it has been the same. */
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
   * True once leaders have answered the same for this long: a new or replaced leader may not know better yet.
   */
  isSaidFor(said: string, ms: number): boolean {
    const nowMs = performance.now()
    if (this.misfit?.said !== said) this.misfit = { said, sinceMs: nowMs }
    return nowMs - this.misfit.sinceMs >= ms
  }

  /** Requests less when well-compressed batches exceed the limit, and more again once they fit. */
  resize(wasCut: boolean): void {
    this.bytesMax = wasCut
      ? Math.max(fetchBytesMin, this.bytesMax / 2)
      : Math.min(fetchBytesMax, this.bytesMax * 2)
  }
}

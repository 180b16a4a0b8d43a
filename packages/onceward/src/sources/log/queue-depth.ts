import type { PartitionLag } from '../../contracts/source.ts'

const everyMs = 5_000

export interface QueueDepthOptions {
  readonly queue: string
  /** Messages that wait at the broker; null when it cannot say. Never rejects. */
  readonly ask: () => Promise<number | null>
  /** Messages this process has and has not settled. */
  readonly held: () => number
  readonly nowMs: () => number
}

/** How many messages of a queue are not applied yet: asked in the background when somebody looks, once in five seconds at most. */
export class QueueDepth {
  readonly #options: QueueDepthOptions
  #waiting: number | null = null
  #askedMs = Number.NEGATIVE_INFINITY
  #asking = false

  constructor(options: QueueDepthOptions) {
    this.#options = options
  }

  lag(): readonly PartitionLag[] {
    const { queue, held, nowMs } = this.#options
    if (!this.#asking && nowMs() - this.#askedMs >= everyMs) void this.#ask()
    return [{ partition: queue, behind: this.#waiting === null ? null : this.#waiting + held() }]
  }

  async #ask(): Promise<void> {
    this.#asking = true
    this.#askedMs = this.#options.nowMs()
    this.#waiting = await this.#options.ask()
    this.#asking = false
  }
}

import type { PartitionLag, Stall } from '../../ports/source.ts'

const everyMs = 5_000
/** An answer that takes longer is counted as one that does not come. */
const answerMs = 2_000
/** Then the question is put again: the connection it was put on may be gone without a word. */
const giveUpMs = 10_000

export interface QueueDepthOptions {
  readonly queue: string
  /** Messages that wait at the broker; null when it cannot say. Never rejects. */
  readonly ask: () => Promise<number | null>
  /** Messages this process has and has not settled. */
  readonly held: () => number
  /** What waits may be another process's to take. */
  readonly forOthers?: boolean
  readonly nowMs: () => number
}

/**
 * How many messages of a queue are not applied yet, and since when none has come although some wait: asked in
 * the background when somebody looks, once in five seconds at most.
 */
export class QueueDepth {
  readonly #options: QueueDepthOptions
  #waiting: number | null = null
  #askedMs = Number.NEGATIVE_INFINITY
  /**
   * The number of the last question, and when the first was put that has no answer yet; null where all have.
   */
  #question = 0
  #unansweredSinceMs: number | null = null
  #moved = false
  /** When messages were first found waiting, with none handed over since; null where all is well. */
  #idleSinceMs: number | null = null

  constructor(options: QueueDepthOptions) {
    this.#options = options
  }

  /** A message was handed over, or the broker was lost: what was known of the wait is over. */
  moved(): void {
    this.#idleSinceMs = null
    this.#moved = true
  }

  lag(): readonly PartitionLag[] {
    const { queue, held } = this.#options
    this.#look()
    return [{ partition: queue, behind: this.#waiting === null ? null : this.#waiting + held() }]
  }

  stalled(): Stall | null {
    const { queue, held, nowMs } = this.#options
    this.#look()
    const now = nowMs()
    const owedMs = this.#unansweredSinceMs === null ? 0 : now - this.#unansweredSinceMs
    if (owedMs > answerMs)
      return { forMs: owedMs, reason: `RabbitMQ does not answer how much waits in queue ${queue}` }
    if (this.#idleSinceMs === null || held() > 0) return null
    const reason = `${this.#waiting} messages wait in queue ${queue}, and none is handed over`
    return { forMs: now - this.#idleSinceMs, reason }
  }

  #look(): void {
    const waitMs = this.#unansweredSinceMs === null ? everyMs : giveUpMs
    if (this.#options.nowMs() - this.#askedMs >= waitMs) void this.#ask()
  }

  async #ask(): Promise<void> {
    const { ask, held, forOthers = false, nowMs } = this.#options
    const question = ++this.#question
    const askedMs = nowMs()
    this.#askedMs = askedMs
    this.#unansweredSinceMs ??= askedMs
    this.#moved = false
    const waiting = await ask()
    if (question !== this.#question) return
    this.#waiting = waiting
    this.#unansweredSinceMs = null
    const waits = (waiting ?? 0) > 0 && held() === 0 && !this.#moved && !forOthers
    this.#idleSinceMs = waits ? (this.#idleSinceMs ?? askedMs) : null
  }
}

import type { PartitionLag, Stall } from '../../ports/source.ts'

const everyMs = 5_000
/** An answer that takes longer counts as missing. */
const answerMs = 2_000
/** Then the query is sent again: its connection may have ended silently. */
const giveUpMs = 10_000

export interface QueueDepthOptions {
  readonly queue: string
  /** Messages that wait at the broker; null when the broker cannot report it. Never rejects. */
  readonly ask: () => Promise<number | null>
  /** Messages this process holds and has not settled. */
  readonly held: () => number
  /** Waiting messages may be another process's to take. */
  readonly forOthers?: boolean
  readonly nowMs: () => number
}

/**
 * How many messages of a queue are not applied yet, and since when none has arrived although some wait. The
 * broker is asked in the background when the value is read, once in five seconds at most.
 */
export class QueueDepth {
  readonly #options: QueueDepthOptions
  #waiting: number | null = null
  #askedMs = Number.NEGATIVE_INFINITY
  /**
   * The number of the last query, and when the oldest unanswered one was sent; null when all are answered.
   */
  #question = 0
  #unansweredSinceMs: number | null = null
  #moved = false
  /** When messages were first found waiting, with none delivered since; null otherwise. */
  #idleSinceMs: number | null = null

  constructor(options: QueueDepthOptions) {
    this.#options = options
  }

  /** A message was delivered, or the connection was lost: the wait has ended. */
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
      return { forMs: owedMs, reason: `RabbitMQ does not report how many messages wait in queue ${queue}` }
    if (this.#idleSinceMs === null || held() > 0) return null
    const reason = `${this.#waiting} messages wait in queue ${queue}, and none is delivered`
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

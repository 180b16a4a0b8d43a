import { ConsecutiveBreaker } from 'cockatiel'
import type { AnswerJudgement } from './judge-answer.ts'

/**
 * Pauses calls to a failing target, so an outage does not use up the attempts of the whole backlog:
 *
 *   closed ──failures in a row──▶ open ──pause ended──▶ probing, one call at a time ──one succeeds──▶ closed
 *                                  ▲                        └── it fails ──┘
 *
 * Only cockatiel's trip rule is used. Its circuit breaker policy keeps its own clock and probes by making a
 * call, but the dispatcher must know how many rows to lease before there is a call.
 */
export class TargetBreaker {
  readonly #rule: ConsecutiveBreaker
  readonly #pauseMs: number
  #state: 'closed' | 'open' | 'probing' = 'closed'
  #openUntilMs = 0

  constructor({ failuresMax, pauseMs }: { readonly failuresMax: number; readonly pauseMs: number }) {
    this.#rule = new ConsecutiveBreaker(failuresMax)
    this.#pauseMs = pauseMs
  }

  /** The number of concurrent calls allowed. */
  allowed(nowMs: number): number {
    if (this.#state === 'open' && nowMs >= this.#openUntilMs) this.#state = 'probing'
    return { closed: Number.POSITIVE_INFINITY, probing: 1, open: 0 }[this.#state]
  }

  /** Returns whether it has just opened. */
  record(judged: AnswerJudgement, nowMs: number): boolean {
    if (!isTrouble(judged)) {
      this.#rule.success()
      this.#state = 'closed'
      return false
    }
    const tripped = this.#rule.failure()
    if (this.#state === 'open' || !(tripped || this.#state === 'probing')) return false
    this.#state = 'open'
    this.#openUntilMs = nowMs + this.#pauseMs
    return true
  }
}

/** The target does not answer properly. A refusal, a rate limit or a key in progress is a proper answer. */
function isTrouble({ result, status }: AnswerJudgement): boolean {
  if (result === 'completed' || result === 'failed') return false
  return status === null || (status >= 500 && status < 600) || result === 'unknown'
}

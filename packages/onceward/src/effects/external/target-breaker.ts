import { ConsecutiveBreaker } from 'cockatiel'
import type { AnswerJudgement } from './judge-answer.ts'

/**
 * Leaves a failing target alone, so that an outage does not use up the attempts of the whole backlog:
 *
 *   closed ──failures in a row──▶ open ──pause over──▶ probing, one call at a time ──one succeeds──▶ closed
 *                                  ▲                        └── it fails ──┘
 *
 * The rule that trips it is cockatiel's; its policy around it is not used: it keeps its own clock, and tries
 * by making a call, while we must know how many rows to claim before there is a call.
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

  /** Calls that may be under way at once. */
  allowed(nowMs: number): number {
    if (this.#state === 'open' && nowMs >= this.#openUntilMs) this.#state = 'probing'
    return { closed: Number.POSITIVE_INFINITY, probing: 1, open: 0 }[this.#state]
  }

  /** Says whether it has just opened. */
  heed(judged: AnswerJudgement, nowMs: number): boolean {
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

/** The target does not answer as it should. A refusal, a limit or a key in progress is an answer. */
function isTrouble({ result, status }: AnswerJudgement): boolean {
  if (result === 'completed' || result === 'failed') return false
  return status === null || (status >= 500 && status < 600) || result === 'unknown'
}

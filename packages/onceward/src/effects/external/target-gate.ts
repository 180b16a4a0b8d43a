import type { FreeTarget } from '../../drivers/postgres/ledger/lease-effects.ts'
import { longestDelayMs } from './decide-result.ts'
import type { AnswerJudgement } from './judge-answer.ts'
import { TargetBreaker } from './target-breaker.ts'
import type { ExternalCaller } from './targets/target.ts'

/**
 * The limit for calls in progress plus results that wait for the database, in multiples of the concurrency.
 * An unavailable database therefore stops the intake.
 */
const unrecordedMax = 2

/**
 * Limits calls to one target by its concurrency and rate, and pauses them while the target fails or asks for
 * a pause.
 */
export class TargetGate {
  readonly target: ExternalCaller
  readonly #breaker: TargetBreaker | null
  /** The burst: the calls of a tenth of a second. */
  readonly #burstMax: number
  /** `#calling`: leased and not yet answered. `#held`: leased and not yet recorded. */
  #calling = 0
  #held = 0
  #closedUntilMs = 0
  #allowance: number
  #countedAtMs = 0

  constructor(target: ExternalCaller) {
    this.target = target
    this.#breaker = target.breaker === null ? null : new TargetBreaker(target.breaker)
    this.#burstMax = Math.max(1, target.ratePerSecondMax / 10)
    this.#allowance = this.#burstMax
  }

  enter(): void {
    this.#calling++
    this.#held++
    this.#allowance--
  }

  /** The call has ended and its result is not durable yet. Another call may start. */
  answered(): void {
    this.#calling--
  }

  leave(): void {
    this.#held--
  }

  /**
   * Pauses for as long as the answer asks, up to the target's longest delay. Returns the pause and whether
   * the breaker opened.
   */
  record(judged: AnswerJudgement, nowMs: number): { readonly pauseMs: number; readonly opened: boolean } {
    const { delayMaxMs } = this.target
    const { misconfigured, retryAfterMs } = judged
    const pauseMs = misconfigured ? delayMaxMs : Math.min(retryAfterMs ?? 0, delayMaxMs)
    if (pauseMs > 0) this.#closedUntilMs = Math.max(this.#closedUntilMs, nowMs + pauseMs)
    return { pauseMs, opened: this.#breaker?.record(judged, nowMs) ?? false }
  }

  free(nowMs: number): FreeTarget {
    const { target } = this
    this.#count(nowMs)
    const { name, attemptsMax, leaseMs } = target
    const request = { name, attemptsMax, leaseMs, delayMaxMs: longestDelayMs(target) }
    if (nowMs < this.#closedUntilMs) return { ...request, slots: 0 }
    const calls = Math.min(target.concurrencyMax, this.#breaker?.allowed(nowMs) ?? target.concurrencyMax)
    const results = unrecordedMax * target.concurrencyMax - this.#held
    const slots = Math.min(calls - this.#calling, results, Math.floor(this.#allowance))
    return { ...request, slots: Math.max(0, slots) }
  }

  /** The time until the rate limit allows another call. Null when the rate is not the limit. */
  rateWaitMs(): number | null {
    if (this.#allowance >= 1 || this.#calling >= this.target.concurrencyMax) return null
    return Math.ceil(((1 - this.#allowance) * 1_000) / this.target.ratePerSecondMax)
  }

  /** A clock that was set back adds no allowance. */
  #count(nowMs: number): void {
    const { ratePerSecondMax } = this.target
    const passedMs = Math.max(0, nowMs - this.#countedAtMs)
    this.#countedAtMs = nowMs
    if (!Number.isFinite(ratePerSecondMax)) this.#allowance = Number.POSITIVE_INFINITY
    else this.#allowance = Math.min(this.#burstMax, this.#allowance + (passedMs * ratePerSecondMax) / 1_000)
  }
}

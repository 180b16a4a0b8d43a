import type { FreeTarget } from '../../drivers/postgres/ledger/lease-effects.ts'
import { longestDelayMs } from './decide-result.ts'
import type { AnswerJudgement } from './judge-answer.ts'
import { TargetBreaker } from './target-breaker.ts'
import type { ExternalCaller } from './targets/target.ts'

/**
 * Results that wait for the database, with the calls under way, in multiples of the concurrency: one that is
 * away stops the intake.
 */
const unrecordedMax = 2

/**
 * Keeps calls to one target within its concurrency and rate, and away from it while it fails or asks for a
 * pause.
 */
export class TargetGate {
  readonly target: ExternalCaller
  readonly #breaker: TargetBreaker | null
  /** What may leave at once: a tenth of a second's worth. */
  readonly #burstMax: number
  /** Claimed and not yet answered; claimed and not yet recorded. */
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

  /** The call is over, its result not durable yet: another may be made meanwhile. */
  answered(): void {
    this.#calling--
  }

  leave(): void {
    this.#held--
  }

  /**
   * Stays away for as long as the answer asks, within the target's longest delay; says how long, and whether
   * the breaker opened.
   */
  heed(judged: AnswerJudgement, nowMs: number): { readonly pauseMs: number; readonly opened: boolean } {
    const { delayMaxMs } = this.target
    const { misconfigured, retryAfterMs } = judged
    const pauseMs = misconfigured ? delayMaxMs : Math.min(retryAfterMs ?? 0, delayMaxMs)
    if (pauseMs > 0) this.#closedUntilMs = Math.max(this.#closedUntilMs, nowMs + pauseMs)
    return { pauseMs, opened: this.#breaker?.heed(judged, nowMs) ?? false }
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

  /** How long until the rate alone lets another call pass; null when it is not what holds them back. */
  rateWaitMs(): number | null {
    if (this.#allowance >= 1 || this.#calling >= this.target.concurrencyMax) return null
    return Math.ceil(((1 - this.#allowance) * 1_000) / this.target.ratePerSecondMax)
  }

  /** A clock that was set back only forgoes what it would have added. */
  #count(nowMs: number): void {
    const { ratePerSecondMax } = this.target
    const passedMs = Math.max(0, nowMs - this.#countedAtMs)
    this.#countedAtMs = nowMs
    if (!Number.isFinite(ratePerSecondMax)) this.#allowance = Number.POSITIVE_INFINITY
    else this.#allowance = Math.min(this.#burstMax, this.#allowance + (passedMs * ratePerSecondMax) / 1_000)
  }
}

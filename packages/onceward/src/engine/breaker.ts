import type { FailureRules, PolicyClass } from '../contract/failure-rules.ts'
import type { Received } from '../message/received.ts'
import type { Clock } from '../surroundings.ts'
import type { Fact } from './outcome.ts'
import type { Decided } from './process-batch.ts'

/** What the breaker knows, for people. */
export interface BreakerView {
  readonly state: 'closed' | 'open' | 'probing'
  /** Failures in a row that say the downstream is away. */
  readonly failures: number
  readonly code: string
}

export type BreakerEvent = 'opened' | 'still away' | 'closed'

/**
 * Tells an outage of the downstream from messages that are at fault, and pauses a consumer meanwhile:
 *
 *   closed ──failures in a row, of two messages at least──▶ open ──pause over──▶ probing, one message at a time ──one gets through──▶ closed
 *                                                            ▲                        └── it fails: twice the pause ──┘
 *
 * One message that fails for ever is no outage, however its error looks: that is for its attempts to end. While it is not closed such
 * failures count no attempt. What a probe leaves undecided, as a duplicate, is asked of the next one.
 */
export class Breaker {
  readonly #failure: Pick<FailureRules, 'rules' | 'breaker'>
  readonly #clock: Clock
  #state: BreakerView['state'] = 'closed'
  #failures = 0
  #code = ''
  /** The only message that has failed so far; null when there is none, or more than one. */
  #alone: string | null = null
  #several = false
  #openings = 0
  #untilMs = 0

  constructor(failure: Pick<FailureRules, 'rules' | 'breaker'>, clock: Clock) {
    this.#failure = failure
    this.#clock = clock
  }

  get view(): BreakerView {
    return { state: this.#state, failures: this.#failures, code: this.#code }
  }

  /** How many messages may be tried now: all, one, none. */
  get room(): number {
    if (this.#state === 'open' && this.waitMs <= 0) this.#state = 'probing'
    return { closed: Number.POSITIVE_INFINITY, probing: 1, open: 0 }[this.#state]
  }

  /** Until the next probe. */
  get waitMs(): number {
    return this.#untilMs - this.#clock.nowMs()
  }

  /** Before anything is counted: how long to wait if these facts mean that the downstream is away, else null. Changes nothing. */
  outageMs(facts: ReadonlyMap<Received, Fact>): number | null {
    if (this.#failure.breaker === null) return null
    if (this.#state !== 'closed') return this.#state === 'open' ? Math.max(0, this.waitMs) : this.#pauseMs()
    const ids = new Set<string | null>()
    let failed = 0
    let through = 0
    for (const [{ id }, fact] of facts) {
      if (fact.kind === 'handled' || (fact.kind === 'verdict' && fact.verdict.kind === 'applied')) through++
      else if (fact.kind === 'failed' && this.#failure.rules[fact.failure.class].breaker) {
        failed++
        if (ids.size < 2) ids.add(id)
      }
    }
    if (this.#alone !== null) ids.add(this.#alone)
    const enough = this.#before(failed, through) >= this.#failure.breaker.failuresMax
    return enough && (this.#several || ids.size > 1) ? this.#pauseMs() : null
  }

  /** After a commit. */
  learn(decided: readonly Decided[]): BreakerEvent | null {
    if (this.#failure.breaker === null) return null
    let through = 0
    let failed = 0
    for (const { received, decision } of decided) {
      if (decision.outcome === 'applied') through++
      else if (this.#failure.rules[decision.failureClass as PolicyClass]?.breaker) {
        failed++
        this.#code = decision.code
        if (this.#alone === null && !this.#several) this.#alone = received.id
        else if (this.#alone !== received.id) this.#several = true
      }
    }
    if (failed === 0 && through === 0) return null
    this.#failures = this.#before(failed, through)
    if (this.#failures === 0) return this.#close()
    const trips = this.#failures >= this.#failure.breaker.failuresMax && this.#several
    if (this.#state === 'open' || (this.#state === 'closed' && !trips)) return null
    const event = this.#state === 'closed' ? 'opened' : 'still away'
    this.#untilMs = this.#clock.nowMs() + this.#pauseMs()
    this.#state = 'open'
    this.#openings++
    return event
  }

  /** Failures in a row, a batch being one event: where at least as many got through as failed, the downstream is there. */
  #before(failed: number, through: number): number {
    if (failed === 0 && through === 0) return this.#failures
    return failed > through ? this.#failures + failed : 0
  }

  #close(): BreakerEvent | null {
    const was = this.#state
    this.#state = 'closed'
    this.#alone = null
    this.#several = false
    this.#openings = 0
    return was === 'closed' ? null : 'closed'
  }

  #pauseMs(): number {
    const { pauseMs, pauseMaxMs } = this.#failure.breaker!
    return Math.min(pauseMaxMs, pauseMs * 2 ** Math.min(this.#openings, 30))
  }
}

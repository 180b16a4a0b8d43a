import type { FailureRules, PolicyClass } from '../../contract/failure-rules.ts'
import type { Clock } from '../../environment.ts'
import type { Received } from '../../message/received.ts'
import type { Decided } from '../batch/batch-attempt.ts'
import type { Fact } from '../batch/outcome.ts'

/** What the breaker knows, for people. */
export interface BreakerView {
  readonly state: 'closed' | 'open' | 'probing'
  /** Failures in a row that say the downstream is away. */
  readonly failures: number
  readonly code: string
}

export type BreakerEvent = 'opened' | 'still away' | 'closed'

/**
 * Probes of one message that cost it nothing; from then on it may be the message, and its attempts are
 * counted.
 */
const freeProbes = 10

/** Ids remembered at most; beyond, the oldest are forgotten. */
const rememberedMax = 10_000

/**
 * Tells an outage of the downstream from messages that are at fault, and pauses a consumer meanwhile:
 *
 *   closed ──failures in a row, of two messages at least──▶ open ──pause over──▶ probing, one message at a time ──one gets through──▶ closed
 *                                                            ▲                        └── it fails: twice the pause ──┘
 *
 * One message that fails for ever is no outage, however its error looks: that is for its attempts to end. Nor
 * are those that failed while others got through, when they come back together and fail again. While it is
 * not closed such failures count no attempt, except of a message that was asked again and again because there
 * is nobody else to ask: two of them at the head of every lane would hold the others for ever.
 */
export class Breaker {
  readonly #failure: Pick<FailureRules, 'rules' | 'breaker'>
  readonly #clock: Clock
  #state: BreakerView['state'] = 'closed'
  #failures = 0
  #code = ''
  /** Those that have failed since something got through, and those that failed while others did. */
  #run = new Set<string>()
  readonly #atFault = new Set<string>()
  /** How often each was the probe of this outage. */
  readonly #probes = new Map<string, number>()
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

  /**
   * Before anything is counted: how long to wait if these facts mean that the downstream is away, else null.
   * Changes nothing. `firstTries`: false where only messages come that have failed before, whose failing
   * again says nothing about others.
   */
  outageMs(facts: ReadonlyMap<Received, Fact>, firstTries: boolean): number | null {
    const { breaker, rules } = this.#failure
    if (breaker === null) return null
    if (this.#state === 'open') return Math.max(0, this.waitMs)
    const failed: string[] = []
    let through = 0
    for (const [{ id }, fact] of facts) {
      if (fact.kind === 'handled' || (fact.kind === 'verdict' && fact.verdict.kind === 'applied')) through++
      else if (fact.kind === 'failed' && rules[fact.failure.class].breaker) failed.push(id ?? '')
    }
    if (this.#state === 'probing') return failed.every(id => this.#isWornOut(id)) ? null : this.#pauseMs()
    const told = firstTries ? failed.filter(id => !this.#atFault.has(id)) : []
    const several = new Set([...this.#run, ...told]).size > 1
    const trips = told.length > through && this.#failures + told.length >= breaker.failuresMax
    return trips && several ? this.#pauseMs() : null
  }

  /** After a commit. */
  learn(decided: readonly Decided[], firstTries: boolean): BreakerEvent | null {
    const { breaker, rules } = this.#failure
    if (breaker === null) return null
    const failed: string[] = []
    let through = 0
    for (const { received, decision } of decided) {
      if (decision.outcome === 'applied') through++
      else if (rules[decision.failureClass as PolicyClass]?.breaker) {
        failed.push(received.id ?? '')
        this.#code = decision.code
      }
    }
    const told = firstTries ? failed.filter(id => !this.#atFault.has(id)) : []
    if (through > 0 && through >= told.length) return this.#pass([...this.#run, ...failed])
    if (this.#state === 'probing' && failed.length > 0) {
      for (const id of failed) this.#probes.set(id, (this.#probes.get(id) ?? 0) + 1)
      return this.#open('still away')
    }
    for (const id of told) this.#run.add(id)
    this.#failures += told.length
    const trips = told.length > 0 && this.#failures >= breaker.failuresMax && this.#run.size > 1
    return this.#state === 'closed' && trips ? this.#open('opened') : null
  }

  #pass(atFault: readonly string[]): BreakerEvent | null {
    const was = this.#state
    this.#state = 'closed'
    this.#failures = 0
    this.#openings = 0
    this.#run = new Set()
    this.#probes.clear()
    // What failed in an outage is not at fault.
    if (was !== 'closed') return 'closed'
    for (const id of atFault) this.#atFault.add(id)
    for (const id of this.#atFault) {
      if (this.#atFault.size <= rememberedMax) break
      this.#atFault.delete(id)
    }
    return null
  }

  #isWornOut(id: string): boolean {
    return (this.#probes.get(id) ?? 0) >= freeProbes
  }

  #open(event: BreakerEvent): BreakerEvent {
    this.#untilMs = this.#clock.nowMs() + this.#pauseMs()
    this.#state = 'open'
    this.#openings++
    return event
  }

  #pauseMs(): number {
    const { pauseMs, pauseMaxMs } = this.#failure.breaker!
    return Math.min(pauseMaxMs, pauseMs * 2 ** Math.min(this.#openings, 30))
  }
}

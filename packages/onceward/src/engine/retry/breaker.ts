import type { FailureRules, PolicyClass } from '../../contract/failure-rules.ts'
import type { Clock } from '../../environment.ts'
import type { Received } from '../../message/received.ts'
import type { Decided } from '../batch/batch-attempt.ts'
import type { Fact } from '../batch/outcome.ts'

/** The breaker's state, for status views. */
export interface BreakerView {
  readonly state: 'closed' | 'open' | 'probing'
  /** Consecutive failures that indicate an unavailable dependency. */
  readonly failures: number
  readonly code: string
}

export type BreakerEvent = 'opened' | 'still unavailable' | 'closed'

/**
 * Failed probes of one message that do not count as attempts. After them the message itself may be the cause,
 * and its attempts count.
 */
const freeProbes = 10

/** The wait for the database without a breaker. */
const databasePauseMs = 5_000

/** Most ids in `#atFault`; the oldest are dropped. */
const rememberedMax = 10_000

/**
 * Distinguishes an unavailable dependency from faulty messages, and pauses the consumer during an outage:
 *
 *   closed ──consecutive failures of at least two messages──▶ open
 *   open ──pause ends──▶ probing, one message at a time ──one is applied──▶ closed
 *    ▲                    └── it fails: twice the pause ──┐
 *    └────────────────────────────────────────────────────┘
 *
 * A single message that keeps failing is not an outage, even if its error looks like one; its attempts end
 * it. Messages that failed while others were applied are not an outage either when they fail again together.
 * In states open and probing such failures count no attempt. The exception is a message that has been the
 * probe many times because no other message is available. Otherwise two such messages at the head of every
 * lane would block all others.
 */
export class Breaker {
  readonly #failure: Pick<FailureRules, 'rules' | 'breaker'>
  readonly #clock: Clock
  #state: BreakerView['state'] = 'closed'
  #failures = 0
  #code = ''
  /**
   * Messages that failed since the last one was applied, and messages that failed while others were applied.
   */
  #run = new Set<string>()
  readonly #atFault = new Set<string>()
  /** How often each message was the probe in this outage. */
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

  /** How many messages may be tried now: all, one or none. */
  get room(): number {
    if (this.#state === 'open' && this.waitMs <= 0) this.#state = 'probing'
    return { closed: Number.POSITIVE_INFINITY, probing: 1, open: 0 }[this.#state]
  }

  /** Time until the next probe. */
  get waitMs(): number {
    return this.#untilMs - this.#clock.nowMs()
  }

  /**
   * Called before attempts are counted. Returns how long to wait if these facts indicate an outage, else
   * null. Changes nothing. `firstTries` is false for workers that only receive messages that have failed
   * before; a repeated failure says nothing about other messages.
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
    const signs = firstTries ? failed.filter(id => !this.#atFault.has(id)) : []
    const several = new Set([...this.#run, ...signs]).size > 1
    const trips = signs.length > through && this.#failures + signs.length >= breaker.failuresMax
    return trips && several ? this.#pauseMs() : null
  }

  /**
   * In every state: how long the message waits for the database if its failure is one of the database as a
   * whole; null if it is not, or if the message may be the cause.
   */
  databaseOutageMs({ id }: Pick<Received, 'id'>, fact: Fact): number | null {
    const wide = fact.kind === 'failed' ? fact.failure.databaseWide : undefined
    if (wide === undefined) return null
    const { breaker } = this.#failure
    if (wide === 'unless others pass' && (breaker === null || this.#atFault.has(id ?? ''))) return null
    return breaker === null ? databasePauseMs : Math.max(0, this.waitMs, this.#pauseMs())
  }

  /** Called after a commit. */
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
    const signs = firstTries ? failed.filter(id => !this.#atFault.has(id)) : []
    if (through > 0 && through >= signs.length) return this.#pass([...this.#run, ...failed])
    if (this.#state === 'probing' && failed.length > 0) {
      for (const id of failed) this.#probes.set(id, (this.#probes.get(id) ?? 0) + 1)
      return this.#open('still unavailable')
    }
    for (const id of signs) this.#run.add(id)
    this.#failures += signs.length
    const trips = signs.length > 0 && this.#failures >= breaker.failuresMax && this.#run.size > 1
    return this.#state === 'closed' && trips ? this.#open('opened') : null
  }

  #pass(atFault: readonly string[]): BreakerEvent | null {
    const was = this.#state
    this.#state = 'closed'
    this.#failures = 0
    this.#openings = 0
    this.#run = new Set()
    this.#probes.clear()
    // A message that failed during an outage is not at fault.
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

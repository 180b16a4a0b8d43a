import type { FailureRules, PolicyClass } from '../../contract/failure-rules.ts'
import type { Clock } from '../../environment.ts'
import type { ReadableMessage, Received } from '../../message/received.ts'
import { processDied } from '../../ports/suspects.ts'
import type { Decided } from '../batch/batch-attempt.ts'
import { type Decision, type Fact, stopsLane } from '../batch/outcome.ts'
import { findMassFailure, type LatestTry, recentMax } from './brake.ts'

/** A paused event type; '' for messages without a type. */
export interface BrakeView {
  readonly type: string
  readonly cause: string
}

export interface BrakeEvent extends BrakeView {
  readonly event: 'engaged' | 'released'
  /** Messages that failed for the cause when the brake engaged. */
  readonly messages: number
}

interface Engaged {
  readonly cause: string
  /** Ids that failed: probes prefer others. */
  readonly failed: Set<string>
  pauses: number
  untilMs: number
}

/** A cause that a probe or an operator cleared does not engage the brake again for this long. */
const knownMs = 3_600_000
const rememberedMax = 10_000

/**
 * Pauses an event type while its handler fails for most messages, as after a bad deployment:
 *
 *   free ──many messages fail for one new cause──▶ paused ──pause ends──▶ probing, one message per batch
 *     ▲                                              ▲                      │ it fails: twice the pause │
 *     └──────────── a probe is applied ──────────────┴──────────────────────┴───────────────────────────┘
 *
 * A paused type is not handled, except for probes; nothing of it is set aside, and no attempt is counted.
 * Probes prefer messages that have not failed, because those that did may be faulty themselves. An operator
 * may end a pause too. Failures that the breaker counts say nothing about the handler, and unreadable
 * messages never reach it: neither engages a brake.
 */
export class Brakes {
  readonly #failure: Pick<FailureRules, 'rules' | 'breaker' | 'brake'>
  readonly #clock: Clock
  readonly #recent = new Map<string, Map<string, LatestTry>>()
  readonly #engaged = new Map<string, Engaged>()
  readonly #known = new Map<string, number>()

  constructor(failure: Pick<FailureRules, 'rules' | 'breaker' | 'brake'>, clock: Clock) {
    this.#failure = failure
    this.#clock = clock
  }

  get engaged(): readonly BrakeView[] {
    return [...this.#engaged].map(([type, { cause }]) => ({ type, cause }))
  }

  /** An earlier process paused the type: it is probed at once. */
  resume(type: string, cause: string): void {
    if (this.#failure.brake === null || this.#engaged.has(type)) return
    this.#engaged.set(type, { cause, failed: new Set(), pauses: 0, untilMs: this.#clock.nowMs() })
  }

  /** An operator, or a probe of another process, ended the pause. */
  release(type: string): BrakeEvent | null {
    const engaged = this.#engaged.get(type)
    if (engaged === undefined) return null
    this.#engaged.delete(type)
    this.#recent.delete(type)
    this.know(type, engaged.cause)
    return { event: 'released', type, cause: engaged.cause, messages: engaged.failed.size }
  }

  know(type: string, cause: string): void {
    this.#known.set(causeKey(type, cause), this.#clock.nowMs() + knownMs)
  }

  /**
   * Called before handlers run: adds a fact for every message of a paused type, except one probe per type if
   * its pause is over. A type with a fact from an earlier round of the batch has had its probe.
   */
  holdBack<M>(fresh: readonly ReadableMessage<M>[], facts: Map<Received<M>, Fact>): void {
    if (this.#engaged.size === 0) return
    const probes = this.#chooseProbes(fresh, facts)
    for (const received of fresh) {
      const engaged = this.#engaged.get(typeOf(received))
      if (engaged === undefined || facts.has(received) || probes.has(received)) continue
      const waitMs = engaged.untilMs - this.#clock.nowMs()
      const delayMs = waitMs > 0 ? waitMs : this.#failure.brake!.pauseMs
      facts.set(received, { kind: 'braked', cause: engaged.cause, delayMs })
    }
  }

  #chooseProbes<M>(
    fresh: readonly ReadableMessage<M>[],
    facts: ReadonlyMap<Received<M>, Fact>,
  ): ReadonlySet<Received<M>> {
    const chosen = new Map<string, ReadableMessage<M>>()
    const stopped = new Set<string>()
    const tried = new Set([...facts].filter(([, fact]) => fact.kind === 'failed').map(([one]) => typeOf(one)))
    for (const received of fresh) {
      const type = typeOf(received)
      const engaged = this.#engaged.get(type)
      const fact = facts.get(received)
      const first = received.lane === null || !stopped.has(received.lane)
      const stops = engaged !== undefined || (fact !== undefined && stopsLane(fact))
      if (stops && received.lane !== null) stopped.add(received.lane)
      if (engaged === undefined || fact !== undefined || !first || tried.has(type)) continue
      if (engaged.untilMs > this.#clock.nowMs()) continue
      const before = chosen.get(type)
      const better = before !== undefined && engaged.failed.has(before.id) && !engaged.failed.has(received.id)
      if (before === undefined || better) chosen.set(type, received)
    }
    return new Set(chosen.values())
  }

  /**
   * Called before attempts are counted: the failures that count none, each with its delay. Changes nothing,
   * because the transaction may roll back.
   */
  judge(facts: ReadonlyMap<Received, Fact>): ReadonlyMap<Received, number> {
    const braked = new Map<Received, number>()
    if (this.#failure.brake === null) return braked
    const failed = [...facts].filter(([received, fact]) => this.#causeOfFact(received, fact) !== null)
    for (const type of new Set(failed.map(([received]) => typeOf(received)))) {
      const engaged = this.#engaged.get(type)
      const cause = engaged === undefined ? this.#wouldEngage(type, facts) : null
      for (const [received, fact] of failed) {
        if (typeOf(received) !== type) continue
        if (engaged !== undefined) braked.set(received, this.#pauseMs(engaged.pauses))
        else if (cause !== null && this.#causeOfFact(received, fact) === cause)
          braked.set(received, this.#pauseMs(0))
      }
    }
    return braked
  }

  /** Called after a commit. */
  learn(decided: readonly Decided[]): readonly BrakeEvent[] {
    const { brake } = this.#failure
    if (brake === null) return []
    if (
      this.#recent.size === 0 &&
      this.#engaged.size === 0 &&
      !decided.some(one => this.#cause(one) !== null)
    )
      return []
    const events: BrakeEvent[] = []
    for (const [type, some] of Map.groupBy(decided, ({ received }) => typeOf(received))) {
      const event = this.#engaged.has(type) ? this.#learnProbe(type, some) : this.#learnTries(type, some)
      if (event !== null) events.push(event)
    }
    return events
  }

  #learnProbe(type: string, decided: readonly Decided[]): BrakeEvent | null {
    if (decided.some(({ decision }) => decision.outcome === 'applied')) return this.release(type)
    const engaged = this.#engaged.get(type)!
    const failed = decided.filter(one => this.#cause(one) !== null)
    if (failed.length === 0) return null
    for (const { received } of failed)
      if (engaged.failed.size < rememberedMax) engaged.failed.add(received.id!)
    engaged.pauses++
    engaged.untilMs = this.#clock.nowMs() + this.#pauseMs(engaged.pauses)
    return null
  }

  #learnTries(type: string, decided: readonly Decided[]): BrakeEvent | null {
    const recent = this.#recent.get(type) ?? new Map<string, LatestTry>()
    if (recent.size === 0 && !decided.some(one => this.#cause(one) !== null)) return null
    for (const one of decided) {
      const cause = this.#cause(one)
      if (cause !== null || one.decision.outcome === 'applied') this.#note(recent, one.received, cause)
    }
    this.#recent.set(type, recent)
    if ([...recent.values()].every(({ cause }) => cause === null)) this.#recent.delete(type)
    const cause = this.#massFailure(type, recent.values())
    if (cause === null) return null
    const failed = [...recent].filter(([, one]) => one.cause === cause).map(([id]) => id)
    const untilMs = this.#clock.nowMs() + this.#pauseMs(0)
    this.#engaged.set(type, { cause, failed: new Set(failed), pauses: 0, untilMs })
    return { event: 'engaged', type, cause, messages: failed.length }
  }

  #wouldEngage(type: string, facts: ReadonlyMap<Received, Fact>): string | null {
    const recent = new Map(this.#recent.get(type))
    for (const [received, fact] of facts) {
      if (typeOf(received) !== type) continue
      const cause = this.#causeOfFact(received, fact)
      if (cause !== null || fact.kind === 'handled') this.#note(recent, received, cause)
    }
    return this.#massFailure(type, recent.values())
  }

  #massFailure(type: string, recent: Iterable<LatestTry>): string | null {
    const now = this.#clock.nowMs()
    return findMassFailure(recent, this.#failure.brake!, cause => {
      return (this.#known.get(causeKey(type, cause)) ?? 0) > now
    })
  }

  #note(recent: Map<string, LatestTry>, received: Received, cause: string | null): void {
    const id = received.id!
    recent.delete(id)
    recent.set(id, { key: (received.readable ? received.orderKey : null) ?? id, cause })
    if (recent.size > recentMax(this.#failure.brake!)) recent.delete(recent.keys().next().value!)
  }

  #cause({ received, decision }: Pick<Decided, 'received' | 'decision'>): string | null {
    if (!received.readable || decision.error === null || decision.code === processDied) return null
    return this.#isOfHandler(decision.failureClass) ? causeOf(decision) : null
  }

  #causeOfFact(received: Received, fact: Fact): string | null {
    if (!received.readable || fact.kind !== 'failed') return null
    return this.#isOfHandler(fact.failure.class) ? causeOf(fact.failure) : null
  }

  #isOfHandler(failureClass: string): boolean {
    if (failureClass === 'contention') return false
    const rules = this.#failure.rules[failureClass as PolicyClass]
    if (rules?.terminal === 'ignored' || rules?.terminal === 'halted') return false
    return this.#failure.breaker === null || rules?.breaker !== true
  }

  #pauseMs(pauses: number): number {
    const { pauseMs, pauseMaxMs } = this.#failure.brake!
    return Math.min(pauseMaxMs, pauseMs * 2 ** Math.min(pauses, 30))
  }
}

/** As operators and alerts name it. */
function causeOf({ code, place }: Pick<Decision, 'code' | 'place'>): string {
  return place === '' ? code : `${code} at ${place}`
}

function causeKey(type: string, cause: string): string {
  return `${type}\0${cause}`
}

function typeOf(received: Received): string {
  return (received.readable ? received.envelope.type : null) ?? ''
}

import type { FailureRules, PolicyClass } from '../../contract/failure-rules.ts'
import type { Clock } from '../../environment.ts'
import type { ReadableMessage, Received } from '../../message/received.ts'
import { processDied } from '../../ports/suspects.ts'
import type { Decided } from '../batch/batch-attempt.ts'
import { type Decision, type Fact, stopsLane } from '../batch/outcome.ts'
import { causeText, finalOutcomes, findMassFailure, type LatestEnd, recentMax } from './brake.ts'
import { keyOf, type ProbeKind, TypePause, typeOf } from './type-pause.ts'

/** A paused event type; '' for messages without a type. */
export interface BrakeView {
  readonly type: string
  readonly cause: string
}

export interface BrakeEvent extends BrakeView {
  readonly event: 'engaged' | 'released'
  /** Messages that failed for the cause. */
  readonly messages: number
}

/** A cause that an operator released, and one that a probe did, pauses nothing for this long. */
const knownMs = { operator: 3_600_000, probe: 600_000 }

/** More are left over only by batches that were given up: they are forgotten. */
const openProbesMax = 1_000

/**
 * Pauses an event type while its handler fails for most messages, as after a bad deployment:
 *
 *   free ──many messages would be set aside for one new cause──▶ paused ──pause ends──▶ probing
 *     ▲                                                            ▲  a probe fails: twice the pause │
 *     └──── a message is applied, or an operator releases it ──────┴─────────────────────────────────┘
 *
 * Only final failures are evidence: those that would set their message aside. A failure that is retried
 * passes normally and counts neither for nor against, so messages that fail twice and then pass pause
 * nothing. The failures that complete the evidence set nothing aside. A paused type is not handled, except
 * for probes; a failed probe counts no attempt. Failures that the breaker counts say nothing about the
 * handler, and unreadable messages never reach it: neither is evidence.
 */
export class Brakes {
  readonly #failure: Pick<FailureRules, 'rules' | 'breaker' | 'brake'>
  readonly #clock: Clock
  readonly #keyOf: (received: Received) => string
  readonly #recent = new Map<string, Map<string, LatestEnd>>()
  readonly #paused = new Map<string, TypePause>()
  /**
   * Probes that are not decided yet. One may fail after another has ended the pause: it ran with what the
   * handler found before, so it is tried again.
   */
  readonly #probes = new Map<Received, TypePause>()
  readonly #known = new Map<string, number>()

  constructor(
    failure: Pick<FailureRules, 'rules' | 'breaker' | 'brake'>,
    clock: Clock,
    ofKey: (received: Received) => string = keyOf,
  ) {
    this.#failure = failure
    this.#clock = clock
    this.#keyOf = ofKey
  }

  get engaged(): readonly BrakeView[] {
    return [...this.#paused].map(([type, { cause }]) => ({ type, cause }))
  }

  /** A type is paused, or messages of one ended by a failure recently: another process may have paused it. */
  get isAlert(): boolean {
    return this.#recent.size > 0 || this.#paused.size > 0
  }

  /** Another process paused the type: it is probed at once. */
  resume(type: string, cause: string): void {
    const { brake } = this.#failure
    if (brake === null || this.#paused.has(type)) return
    this.#paused.set(type, new TypePause(cause, brake, this.#clock.nowMs(), 0, this.#keyOf))
  }

  /**
   * The pause ended. A probe of another process says nothing about this one, which may run another version of
   * the handler: its evidence stays, and its next final failure pauses the type again.
   */
  release(type: string, by: 'operator' | 'probe' | 'other process'): BrakeEvent | null {
    const paused = this.#paused.get(type)
    if (paused === undefined) return null
    this.#paused.delete(type)
    if (by !== 'other process') {
      this.#recent.delete(type)
      this.know(type, paused.cause, by)
    }
    return { event: 'released', type, cause: paused.cause, messages: paused.failedCount }
  }

  know(type: string, cause: string, by: 'operator' | 'probe' = 'operator'): void {
    this.#known.set(`${type}\0${cause}`, this.#clock.nowMs() + knownMs[by])
  }

  /**
   * Called before handlers run: adds a fact for every message of a paused type, except its probes if they are
   * due. A kind with a failure from an earlier round of the batch has had its probe. `mayRun`: messages that
   * wait for no other one; only they can be probes.
   */
  holdBack<M>(
    fresh: readonly ReadableMessage<M>[],
    facts: Map<Received<M>, Fact>,
    mayRun: () => ReadonlySet<ReadableMessage<M>>,
  ): void {
    if (this.#paused.size === 0) return
    const nowMs = this.#clock.nowMs()
    const due = mayRun()
    const probes = this.#chooseProbes(
      fresh.filter(received => due.has(received) || facts.has(received)),
      facts,
      nowMs,
    )
    if (this.#probes.size > openProbesMax) this.#probes.clear()
    for (const received of fresh) {
      const paused = this.#paused.get(typeOf(received))
      if (paused === undefined || facts.has(received)) continue
      if (probes.has(received)) {
        this.#probes.set(received, paused)
        continue
      }
      const delayMs = paused.waitMs(paused.kindOf(received), nowMs) || this.#failure.brake!.pauseMs
      facts.set(received, { kind: 'braked', cause: paused.cause, delayMs })
    }
  }

  #chooseProbes<M>(
    fresh: readonly ReadableMessage<M>[],
    facts: ReadonlyMap<Received<M>, Fact>,
    nowMs: number,
  ): ReadonlySet<Received<M>> {
    const chosen = new Map<string, ReadableMessage<M>>()
    const slotOf = (type: string, kind: ProbeKind) => `${kind} ${type}`
    const had = this.#slotsOfFailures(facts, slotOf)
    const stopped = new Set<string>()
    for (const received of fresh) {
      const type = typeOf(received)
      const paused = this.#paused.get(type)
      const fact = facts.get(received)
      const first = received.lane === null || !stopped.has(received.lane)
      const stops = paused !== undefined || (fact !== undefined && stopsLane(fact))
      if (stops && received.lane !== null) stopped.add(received.lane)
      if (paused === undefined || fact !== undefined || !first) continue
      const kind = paused.kindOf(received)
      const slot = slotOf(type, kind)
      if (had.has(slot) || paused.waitMs(kind, nowMs) > 0) continue
      const before = chosen.get(slot)
      if (before === undefined || paused.rank(received) > paused.rank(before)) chosen.set(slot, received)
    }
    return new Set(chosen.values())
  }

  #slotsOfFailures(
    facts: ReadonlyMap<Received, Fact>,
    slotOf: (type: string, kind: ProbeKind) => string,
  ): ReadonlySet<string> {
    const slots = new Set<string>()
    for (const [received, { kind }] of facts) {
      const paused = kind === 'failed' ? this.#paused.get(typeOf(received)) : undefined
      if (paused !== undefined) slots.add(slotOf(typeOf(received), paused.kindOf(received)))
    }
    return slots
  }

  /** Called before attempts are counted: failures of paused types, which count none, each with its wait. */
  failedProbes(facts: ReadonlyMap<Received, Fact>): ReadonlyMap<Received, number> {
    const waits = new Map<Received, number>()
    if (this.#paused.size === 0 && this.#probes.size === 0) return waits
    for (const [received, fact] of facts) {
      const paused = this.#paused.get(typeOf(received)) ?? this.#probes.get(received)
      if (paused === undefined || fact.kind !== 'failed' || !this.#isOfHandler(fact.failure.class)) continue
      if (received.readable) waits.set(received, paused.pauseMs(paused.kindOf(received)))
    }
    return waits
  }

  /**
   * Called when all failures are decided: those that would complete the evidence of a mass failure wait
   * instead of being set aside. Changes nothing, because the transaction may roll back.
   */
  overrule(decisions: ReadonlyMap<Received, Decision>): ReadonlyMap<Received, number> {
    const waits = new Map<Received, number>()
    const { brake } = this.#failure
    if (brake === null) return waits
    const decided = [...decisions].map(([received, decision]) => ({ received, decision }))
    const failed = decided.filter(one => this.#causeOf(one) !== null)
    for (const type of new Set(failed.map(({ received }) => typeOf(received)))) {
      if (this.#paused.has(type)) continue
      const ends = decided.filter(({ received }) => typeOf(received) === type)
      const cause = this.#massFailure(type, this.#withEnds(type, ends))
      for (const one of ends)
        if (cause !== null && this.#causeOf(one) === cause) waits.set(one.received, brake.pauseMs)
    }
    return waits
  }

  /** Called after a commit. */
  learn(decided: readonly Decided[]): readonly BrakeEvent[] {
    if (this.#failure.brake === null) return []
    if (this.#probes.size > 0) for (const { received } of decided) this.#probes.delete(received)
    const quiet = this.#recent.size === 0 && this.#paused.size === 0
    if (quiet && !decided.some(one => this.#causeOf(one) !== null)) return []
    const events: BrakeEvent[] = []
    for (const [type, some] of Map.groupBy(decided, ({ received }) => typeOf(received))) {
      const event = this.#paused.has(type) ? this.#learnProbes(type, some) : this.#learnEnds(type, some)
      if (event !== null) events.push(event)
    }
    return events
  }

  /** A message of a paused type that was not tried yet may be tried now, out of its turn. */
  wantsAhead(received: Received): boolean {
    const paused = received.readable ? this.#paused.get(typeOf(received)) : undefined
    return paused?.kindOf(received) === 'untried' && paused.waitMs('untried', this.#clock.nowMs()) === 0
  }

  /** A message was tried out of turn, without effect. Verdicts and outages say nothing about the cause. */
  triedAhead(received: Received, fact: Fact): BrakeEvent | null {
    const type = typeOf(received)
    if (fact.kind === 'handled') return this.release(type, 'probe')
    if (fact.kind === 'failed' && this.#isOfHandler(fact.failure.class))
      this.#paused.get(type)?.probeFailed(received, this.#clock.nowMs())
    return null
  }

  #learnProbes(type: string, decided: readonly Decided[]): BrakeEvent | null {
    if (decided.some(({ decision }) => decision.outcome === 'applied')) return this.release(type, 'probe')
    const paused = this.#paused.get(type)!
    for (const { received, decision } of decided)
      if (decision.braked) paused.probeFailed(received, this.#clock.nowMs())
    return null
  }

  #learnEnds(type: string, decided: readonly Decided[]): BrakeEvent | null {
    const recent = this.#withEnds(type, decided)
    if ([...recent.values()].some(({ cause }) => cause !== null)) this.#recent.set(type, recent)
    else this.#recent.delete(type)
    const cause = this.#massFailure(type, recent)
    if (cause === null) return null
    const { brake } = this.#failure
    const paused = new TypePause(cause, brake!, this.#clock.nowMs(), brake!.pauseMs, this.#keyOf)
    for (const one of decided) if (this.#causeOf(one) === cause) paused.failed(one.received)
    this.#paused.set(type, paused)
    const messages = [...recent.values()].filter(one => one.cause === cause).length
    return { event: 'engaged', type, cause, messages }
  }

  /** A copy of the recent ends with these. */
  #withEnds(
    type: string,
    decided: readonly Pick<Decided, 'received' | 'decision'>[],
  ): Map<string, LatestEnd> {
    const recent = new Map(this.#recent.get(type))
    const countMax = recentMax(this.#failure.brake!)
    for (const one of decided) {
      const cause = this.#causeOf(one)
      if (cause === null && one.decision.outcome !== 'applied') continue
      const { received } = one
      recent.delete(received.id!)
      recent.set(received.id!, { key: this.#keyOf(received), cause })
      if (recent.size > countMax) recent.delete(recent.keys().next().value!)
    }
    return recent
  }

  #massFailure(type: string, recent: ReadonlyMap<string, LatestEnd>): string | null {
    const nowMs = this.#clock.nowMs()
    const isKnown = (cause: string) => (this.#known.get(`${type}\0${cause}`) ?? 0) > nowMs
    return findMassFailure(recent.values(), this.#failure.brake!, isKnown)
  }

  /** Why the message ended, or would have without the brake; null if no failure of its handler ended it. */
  #causeOf({ received, decision }: Pick<Decided, 'received' | 'decision'>): string | null {
    const { outcome, error, code, place, failureClass, braked } = decision
    if (!received.readable || error === null || code === processDied) return null
    if (!braked && !finalOutcomes.has(outcome)) return null
    return this.#isOfHandler(failureClass) ? causeText(code, place) : null
  }

  #isOfHandler(failureClass: string): boolean {
    if (failureClass === 'contention') return false
    const rules = this.#failure.rules[failureClass as PolicyClass]
    if (rules?.terminal === 'halted') return false
    return this.#failure.breaker === null || rules?.breaker !== true
  }
}

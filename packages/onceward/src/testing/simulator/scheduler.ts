import { nextTick } from 'node:process'
import type { Actor } from './actor.ts'
import type { Draws } from './draws.ts'
import type { Trace } from './trace.ts'

/** A step that may happen next. */
export interface Action {
  readonly actor: Actor | null
  readonly label: string
  /** A request that is on the wire: its sender's death may or may not stop it. */
  readonly wire: boolean
  /** Takes no network: a half-open link does not hold it up. */
  readonly local: boolean
  readonly run: () => void
}

interface Timer {
  readonly actor: Actor | null
  readonly atMs: number
  readonly callback: () => void
}

export interface Pace {
  /** How often the same process continues rather than a random one. */
  readonly stickiness: number
  /** How often an answer travels separately instead of arriving at once. */
  readonly lateAnswers: number
  /** How often time passes although there is work. */
  readonly restlessness: number
}

/** A timer due within this time may fire while there is work; a later one only in slow schedules. */
const soonMs = 1_000

/**
 * Owns every wait: calls are answered and timers fire only when it picks them. Between two picks the code
 * under test runs until it waits again.
 */
export class Scheduler {
  readonly draws: Draws
  readonly trace: Trace
  readonly pace: Pace
  nowMs = 0
  steps = 0
  readonly #ready: Action[] = []
  readonly #timers: Timer[] = []
  /** Actors whose link is half open. */
  readonly #cutOff = new Set<Actor>()
  #last: Actor | null = null

  constructor(draws: Draws, trace: Trace, pace: Pace) {
    this.draws = draws
    this.trace = trace
    this.pace = pace
  }

  get ready(): readonly Action[] {
    return this.#ready
  }

  offer(
    actor: Actor | null,
    label: string,
    run: () => void,
    { wire = false, local = false }: Partial<Pick<Action, 'wire' | 'local'>> = {},
  ): Action {
    const action = { actor, label, run, wire, local }
    this.#ready.push(action)
    return action
  }

  withdraw(action: Action): void {
    const index = this.#ready.indexOf(action)
    if (index >= 0) this.#ready.splice(index, 1)
  }

  /** A request to a server and its answer. */
  call<T>(actor: Actor, label: string, execute: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      if (actor.state === 'dead') return
      const run = () => this.answer(actor, resolve, reject, execute)
      this.offer(actor, label, run, { wire: true })
    })
  }

  answer<T>(actor: Actor, resolve: (value: T) => void, reject: (error: unknown) => void, by: () => T): void {
    let deliver: () => void
    try {
      const value = by()
      deliver = () => resolve(value)
    } catch (error) {
      deliver = () => reject(error)
    }
    this.notify(actor, 'answer', deliver)
  }

  /** A notification to the actor, now or later. */
  notify(actor: Actor, label: string, deliver: () => void): void {
    const late = this.draws.chance(this.pace.lateAnswers) || this.#cutOff.has(actor)
    if (late) this.offer(actor, label, () => actor.hear(deliver))
    else actor.hear(deliver)
  }

  after(actor: Actor | null, delayMs: number, callback: () => void): () => void {
    const timer = { actor, atMs: this.nowMs + Math.max(0, Math.floor(delayMs)), callback }
    if (actor?.state === 'dead') return () => {}
    this.#timers.push(timer)
    return () => {
      const index = this.#timers.indexOf(timer)
      if (index >= 0) this.#timers.splice(index, 1)
    }
  }

  isCutOff(actor: Actor): boolean {
    return this.#cutOff.has(actor)
  }

  /** Until `reconnect`, no request, answer or notification of this actor passes. */
  cutOff(actor: Actor): void {
    this.#cutOff.add(actor)
  }

  reconnect(actor: Actor): void {
    this.#cutOff.delete(actor)
  }

  /** Drops the waits of a dead actor. Requests on the wire stay when `keeps` says so. */
  bury(actor: Actor, keeps: (action: Action) => boolean): void {
    this.reconnect(actor)
    for (let index = this.#ready.length - 1; index >= 0; index--) {
      const action = this.#ready[index]!
      if (action.actor === actor && !(action.wire && keeps(action))) this.#ready.splice(index, 1)
    }
    for (let index = this.#timers.length - 1; index >= 0; index--) {
      if (this.#timers[index]!.actor === actor) this.#timers.splice(index, 1)
    }
  }

  /** Runs one step, and everything that follows from it without waiting. False when no step is left. */
  async step(): Promise<boolean> {
    const timer = this.#nextTimer()
    const inMs = timer === null ? Infinity : timer.atMs - this.nowMs
    if (!this.#canRun() || (inMs <= soonMs && this.draws.chance(this.pace.restlessness))) {
      if (timer === null) return false
      this.#fire(timer)
    } else this.#runOne()
    this.steps++
    await this.quiet()
    return true
  }

  /**
   * Resolves when no promise has anything left to do: a tick's callback runs only once the microtask queue is
   * empty, at any length. It takes 0.3 µs. An immediate does the same in 1.4 µs; fifty awaited turns take 3
   * µs and are a guess.
   */
  quiet(): Promise<void> {
    return new Promise(resolve => nextTick(resolve))
  }

  /** Moves time to the next timer, however far that is. False when there is none. */
  leap(): boolean {
    const timer = this.#nextTimer()
    if (timer !== null) this.#fire(timer)
    return timer !== null
  }

  #runOne(): void {
    const index = this.#pick()
    const action = this.#ready[index]!
    this.trace.mix(index + this.#ready.length * 64)
    this.#ready[index] = this.#ready.at(-1)!
    this.#ready.pop()
    this.#last = action.actor
    if (this.trace.on) this.trace.note(this.#line(action.actor, action.label))
    action.run()
  }

  #pick(): number {
    if (this.#last !== null && this.draws.chance(this.pace.stickiness)) {
      const mine = this.#indices(action => action.actor === this.#last && this.#passes(action))
      if (mine.length > 0) return this.draws.pick(mine)
    }
    if (this.#cutOff.size === 0) return this.draws.below(this.#ready.length)
    return this.draws.pick(this.#indices(action => this.#passes(action)))
  }

  #canRun(): boolean {
    if (this.#cutOff.size === 0) return this.#ready.length > 0
    return this.#ready.some(action => this.#passes(action))
  }

  #passes({ actor, local }: Action): boolean {
    return local || actor === null || !this.#cutOff.has(actor)
  }

  #indices(isChosen: (action: Action) => boolean): number[] {
    const chosen: number[] = []
    for (let index = 0; index < this.#ready.length; index++) {
      if (isChosen(this.#ready[index]!)) chosen.push(index)
    }
    return chosen
  }

  #fire(timer: Timer): void {
    this.#timers.splice(this.#timers.indexOf(timer), 1)
    this.nowMs = Math.max(this.nowMs, timer.atMs)
    this.trace.mix(this.nowMs)
    if (this.trace.on) this.trace.note(this.#line(timer.actor, 'a timer fires'))
    if (timer.actor === null) timer.callback()
    else timer.actor.hear(timer.callback)
  }

  /** The earliest; of equals, the one set first. */
  #nextTimer(): Timer | null {
    let next: Timer | null = null
    for (const timer of this.#timers) if (next === null || timer.atMs < next.atMs) next = timer
    return next
  }

  #line(actor: Actor | null, label: string): string {
    return `${String(this.steps).padStart(4)} ${String(this.nowMs).padStart(6)} ms  ${(actor?.name ?? '').padEnd(5)} ${label}`
  }

  /** A remark on the current step. */
  remark(text: string): void {
    if (this.trace.on) this.trace.note(`${' '.repeat(22)}${text}`)
  }
}

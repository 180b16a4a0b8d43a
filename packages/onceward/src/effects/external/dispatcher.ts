import { type Found, WorkLoop } from '../work-loop.ts'
import { callTarget } from './call-target.ts'
import { type ClaimedEffect, ClaimUnconfirmed, claimEffects } from './claim-effects.ts'
import { decideResult } from './decide-result.ts'
import type { DispatcherOptions, DispatcherTally } from './dispatcher-options.ts'
import { type Judgement, judgeAnswer, notSent } from './judge-answer.ts'
import { reasonNotToCall } from './reason-not-to-call.ts'
import { ResultRecorder } from './result-recorder.ts'
import { resolveTargets, type Target } from './target.ts'
import { TargetGate } from './target-gate.ts'

export type { DispatcherOptions, DispatcherTally } from './dispatcher-options.ts'

const claimLost = notSent('the answer to its claim was lost; nothing was sent')

const doubtMaxDefaultMs = 12 * 3_600_000

/**
 * Calls external targets for intents recorded in the ledger. The life of a row:
 *
 *   pending ──claim──▶ in flight ──2xx──▶ completed
 *                       ▲   │ ├── turned away, never reached ──▶ retryable ──┐
 *                       │   │ ├── may have happened ──▶ unknown ─────────────┤ due again, attempts left
 *                       └───┼─┴──────────────────────────────────────────────┘
 *                           ├── lease expired: whoever claims it treats it as unknown
 *                           └── refused, attempts used up ──▶ failed, or unknown for people
 *
 * One claim is outstanding whenever a target has a free slot and something may be due. A slot is held from the claim until the
 * result is durable, so a database that is away stops the intake. Dying anywhere loses nothing: the lease runs out and the row is
 * called again with the same key and bytes.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions
  readonly #gates: ReadonlyMap<string, TargetGate>
  readonly #recorder: ResultRecorder
  readonly #loop: WorkLoop
  readonly #results: Record<string, number> = {}
  #moreDue = false
  #inFlight = 0
  #claimed = 0
  #called = 0
  #fenced = 0

  constructor(options: DispatcherOptions) {
    this.#options = options
    const { pool, world } = options
    const targets = [...resolveTargets(options.targets, options.leaseMs)]
    this.#gates = new Map(targets.map(([name, target]) => [name, new TargetGate(target)]))
    this.#loop = new WorkLoop({
      pool,
      world,
      look: () => this.#claim(),
      idle: () => this.#inFlight === 0,
      leaving: 'at once',
      who: this.#who(),
      words: {
        away: 'database away, external calls pause; nothing is lost',
        halted: 'dispatcher halted; intents wait in the ledger',
      },
    })
    this.#recorder = new ResultRecorder(pool, world, this.#loop.signal)
  }

  get tally(): DispatcherTally {
    return {
      claimed: this.#claimed,
      called: this.#called,
      results: { ...this.#results },
      fenced: this.#fenced,
      inFlight: this.#inFlight,
      storeAway: this.#loop.storeAway,
    }
  }

  /** Resolves when stopped, rejects when it had to stop by itself. */
  get finished(): Promise<void> {
    return this.#loop.finished
  }

  start(): Promise<void> {
    return this.#loop.start()
  }

  /** Something may be due now: a consumer of this process has committed. Cheap, never throws. */
  kick(): void {
    this.#loop.kick()
  }

  /** Takes nothing new, finishes and records the calls in flight. Past the deadline it leaves at once. */
  drain(deadlineMs?: number): Promise<void> {
    return this.#loop.drain(deadlineMs)
  }

  /** Aborts calls and leaves without recording them: when their leases end they count as unknown. */
  leave(): void {
    this.#loop.leave()
  }

  async #claim(): Promise<Found> {
    const { pool, consumerName, world } = this.#options
    const askedMs = world.clock.nowMs()
    const free = [...this.#gates.values()].map(gate => gate.free(askedMs)).filter(({ slots }) => slots > 0)
    if (free.length === 0) return null
    const effects = await claimEffects(pool, consumerName, free).catch(error => this.#claimFailed(error))
    this.#moreDue = free.some(({ target, slots }) => countOf(effects, target) >= slots)
    if (effects.length > 0) world.reach('dispatch.claimed')
    this.#claimed += effects.length
    if (!this.#loop.signal.aborted)
      for (const effect of effects)
        void this.#dispatch(effect, target => this.#stale(effect, target, askedMs))
    return { found: effects.length > 0 }
  }

  #claimFailed(error: unknown): never {
    this.#moreDue = false
    if (!(error instanceof ClaimUnconfirmed)) throw error
    for (const effect of error.effects) void this.#dispatch(effect, () => claimLost)
    throw error.cause
  }

  async #dispatch(effect: ClaimedEffect, reasonNotTo: (target: Target) => Judgement | null): Promise<void> {
    const gate = this.#gates.get(effect.target)!
    gate.enter()
    this.#inFlight++
    try {
      await this.#attempt(effect, gate, reasonNotTo(gate.target))
    } catch (error) {
      if (!this.#loop.signal.aborted) this.#loop.halt(error)
    } finally {
      gate.leave()
      this.#inFlight--
    }
    if (this.#moreDue) this.#loop.pump()
    this.#loop.stopIfIdle()
  }

  async #attempt(effect: ClaimedEffect, gate: TargetGate, known: Judgement | null): Promise<void> {
    const { world } = this.#options
    const { target } = gate
    const judged = known ?? (await this.#call(effect, gate))
    if (this.#loop.signal.aborted) return
    const attempts = effect.attempts - (judged.unsent && !effect.exhausted ? 1 : 0)
    const { state, delayMs } = decideResult({ ...effect, attempts }, judged, target, world.random())
    const { id, epoch } = effect
    const { status, digest, note } = judged
    const ours = await this.#recorder.record({ id, epoch, state, attempts, delayMs, status, digest, note })
    const fields = { ...this.#who(), target: target.name, ledger: id, attempts, state, note }
    // A claim that never committed is nobody's loss.
    if (!ours && judged === claimLost) return
    if (!ours) {
      this.#fenced++
      world.log.warn('the lease was lost, this result is dropped', fields)
    } else if (state !== 'completed' && delayMs === null) {
      world.log.error('an external effect waits for people', fields)
    }
  }

  #stale(effect: ClaimedEffect, target: Target, askedMs: number): Judgement | null {
    const { world, doubtMaxMs = doubtMaxDefaultMs } = this.#options
    return reasonNotToCall(effect, target, world.clock.nowMs() - askedMs, doubtMaxMs)
  }

  async #call(effect: ClaimedEffect, gate: TargetGate): Promise<Judgement> {
    const { world } = this.#options
    const { target } = gate
    this.#called++
    const judged = judgeAnswer(await callTarget(target, effect, world.timers, this.#loop.signal))
    if (this.#loop.signal.aborted) return judged
    world.reach('dispatch.called')
    world.metrics.externalCall(target.name, judged.result)
    this.#results[judged.result] = (this.#results[judged.result] ?? 0) + 1
    const pauseMs = gate.heed(judged, world.clock.nowMs())
    if (judged.misconfigured) {
      const fields = { ...this.#who(), target: target.name, status: judged.status, pauseMs }
      world.log.error('the target does not accept our credentials: calls to it pause', fields)
    }
    return judged
  }

  #who() {
    return { consumer: this.#options.consumerName, instance: this.#options.instance }
  }
}

export function createDispatcher(options: DispatcherOptions): Dispatcher {
  return new Dispatcher(options)
}

const countOf = (effects: readonly ClaimedEffect[], { name }: Target) =>
  effects.reduce((count, effect) => count + (effect.target === name ? 1 : 0), 0)

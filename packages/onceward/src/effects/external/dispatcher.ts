import {
  type LeasedEffect,
  LeaseUnconfirmed,
  leaseEffects,
} from '../../drivers/postgres/ledger/lease-effects.ts'
import { assertWarningsArrive } from '../../drivers/postgres/replication.ts'
import type { LogFields } from '../../environment.ts'
import { type PollResult, WorkLoop } from '../work-loop.ts'
import { decideResult } from './decide-result.ts'
import { type Attempted, dispatchEffect } from './dispatch-effect.ts'
import type { DispatcherOptions, DispatcherTally } from './dispatcher-options.ts'
import { notSent } from './judge-answer.ts'
import { ResultRecorder } from './result-recorder.ts'
import { TargetGate } from './target-gate.ts'
import { resolveTargets } from './targets/resolve-target.ts'
import type { ExternalCaller } from './targets/target.ts'

export type { DispatcherOptions, DispatcherTally } from './dispatcher-options.ts'

const leaseLostNote = 'its lease was not confirmed; nothing was sent'
const leaseLost = ({ doubtful }: LeasedEffect): Attempted => ({ judged: notSent(leaseLostNote), doubtful })

/**
 * Calls external targets for intents recorded in the ledger. The states of a row:
 *
 *   pending ──lease──▶ in flight ──done, or found done──▶ completed
 *                       ▲   │ ├── rejected, never reached ──▶ retryable ─────┐
 *                       │   │ ├── may have happened ──▶ unknown ─────────────┤
 *                       └───┼─┴── due again (1) ─────────────────────────────┘
 *                           ├── lease expired: the next dispatcher treats it as unknown
 *                           ├── may have happened, repeat forbidden (2) ──▶ reconciling
 *                           └── refused, attempts used up ──▶ failed, or unknown if it may have happened (3)
 *
 * (1) attempts are left and the policy is keyed or query first; (2) by the key's lifetime, a replayed error
 * or policy manual; (3) an operator decides.
 *
 * One lease request is outstanding whenever a target has a free slot and work may be due. A slot is held from
 * the lease to the answer. Results that wait for the database are bounded too, so an unavailable database
 * stops the intake. A crash loses nothing: the lease expires and another dispatcher leases the row. The
 * target's policy then applies, with the same key and bytes.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions
  readonly #gates: ReadonlyMap<string, TargetGate>
  readonly #recorder: ResultRecorder
  readonly #loop: WorkLoop
  readonly #results: Record<string, number> = {}
  readonly #logFields: LogFields
  #moreDue = false
  #inFlight = 0
  #leased = 0
  #called = 0
  #fenced = 0

  constructor(options: DispatcherOptions) {
    this.#options = options
    const { pool, env, consumerName: consumer, instance } = options
    this.#logFields = { consumer, instance }
    const targets = [...resolveTargets(options.targets, options)]
    this.#gates = new Map(targets.map(([name, target]) => [name, new TargetGate(target)]))
    this.#loop = new WorkLoop({
      pool,
      env,
      poll: () => this.#lease(),
      idle: () => this.#inFlight === 0,
      leaving: 'at once',
      logFields: this.#logFields,
      logMessages: {
        unavailable: 'database unavailable; external calls pause, no intent is lost',
        halted: 'dispatcher halted; intents wait in the ledger',
      },
    })
    this.#recorder = new ResultRecorder(pool, env, this.#loop.signal)
  }

  get tally(): DispatcherTally {
    return {
      leased: this.#leased,
      called: this.#called,
      results: { ...this.#results },
      fenced: this.#fenced,
      inFlight: this.#inFlight,
      storeUnavailable: this.#loop.storeUnavailable,
    }
  }

  /** Resolves when the dispatcher has stopped, rejects when it halted on an error. */
  get finished(): Promise<void> {
    return this.#loop.finished
  }

  async start(): Promise<void> {
    await assertWarningsArrive(this.#options.pool)
    return this.#loop.start()
  }

  /** Hints at new intents: a consumer of this process has committed. Cheap, never throws. */
  kick(): void {
    this.#loop.kick()
  }

  /**
   * Leases nothing new, finishes and records the calls in flight. Past the deadline it leaves immediately.
   */
  drain(deadlineMs?: number): Promise<void> {
    return this.#loop.drain(deadlineMs)
  }

  /** Aborts calls and stops without recording them. When their leases expire, they count as unknown. */
  leave(): void {
    this.#loop.leave()
  }

  async #lease(): Promise<PollResult> {
    const { pool, consumerName, env } = this.#options
    const requestedMs = env.clock.nowMs()
    const free = [...this.#gates.values()]
      .map(gate => gate.free(requestedMs))
      .filter(({ slots }) => slots > 0)
    if (free.length === 0) return null
    const effects = await leaseEffects(pool, consumerName, free).catch(error => this.#leaseFailed(error))
    this.#moreDue = free.some(({ name, slots }) => countOf(effects, name) >= slots)
    if (effects.length > 0) env.reach('dispatch.leased')
    this.#leased += effects.length
    if (!this.#loop.signal.aborted)
      for (const effect of effects)
        void this.#dispatch(effect, gate => this.#attempt(effect, gate, requestedMs))
    this.#awaitRate()
    return { found: effects.length > 0 }
  }

  /**
   * Polls as soon as a target's rate limit allows another call. The timer alone would fall behind the rate.
   */
  #awaitRate(): void {
    const waits = [...this.#gates.values()].map(gate => gate.rateWaitMs()).filter(waitMs => waitMs !== null)
    if (waits.length > 0 && this.#moreDue)
      this.#options.env.timers.after(Math.min(...waits), () => this.#loop.pump())
  }

  #leaseFailed(error: unknown): never {
    this.#moreDue = false
    if (!(error instanceof LeaseUnconfirmed)) throw error
    const { effects, transaction } = error
    for (const effect of effects) void this.#dispatch(effect, async () => leaseLost(effect), transaction)
    throw error.cause
  }

  async #dispatch(
    effect: LeasedEffect,
    attempt: (gate: TargetGate) => Promise<Attempted>,
    transaction: string | null = null,
  ): Promise<void> {
    const gate = this.#gates.get(effect.target)!
    gate.enter()
    this.#inFlight++
    try {
      const attempted = await attempt(gate).finally(() => gate.answered())
      if (this.#moreDue) this.#loop.pump()
      if (!this.#loop.signal.aborted) await this.#record(effect, gate.target, attempted, transaction)
    } catch (error) {
      if (!this.#loop.signal.aborted) this.#loop.halt(error)
    } finally {
      gate.leave()
      this.#inFlight--
    }
    if (this.#moreDue) this.#loop.pump()
    this.#loop.stopIfIdle()
  }

  async #attempt(effect: LeasedEffect, gate: TargetGate, requestedMs: number): Promise<Attempted> {
    const attempted = await dispatchEffect(effect, gate, {
      env: this.#options.env,
      consumer: this.#options.consumerName,
      leaving: this.#loop.signal,
      requestedMs,
      logFields: this.#logFields,
      onCall: () => void this.#called++,
    })
    const { result, unsent } = attempted.judged
    if (!unsent) this.#results[result] = (this.#results[result] ?? 0) + 1
    return attempted
  }

  async #record(
    effect: LeasedEffect,
    target: ExternalCaller,
    { judged, doubtful }: Attempted,
    transaction: string | null,
  ): Promise<void> {
    const { env } = this.#options
    const attempts = effect.attempts - (judged.unsent && !effect.exhausted ? 1 : 0)
    const { state, delayMs } = decideResult({ ...effect, attempts, doubtful }, judged, target, env.random())
    const { id, epoch } = effect
    const { status, digest, note, excerpt } = judged
    const ours = await this.#recorder.record({
      id,
      epoch,
      transaction,
      state,
      attempts,
      delayMs,
      status,
      digest,
      note,
      excerpt,
    })
    if (ours && (state === 'completed' || delayMs !== null)) return
    const fields = { ...this.#logFields, target: target.name, ledger: id, attempts, state, note }
    // The lease was never committed, so nothing is lost.
    if (!ours && judged.note === leaseLostNote) return
    if (ours) return env.log.error('external effect needs attention', fields)
    this.#fenced++
    env.log.warn('lease lost; result discarded', fields)
  }
}

export function createDispatcher(options: DispatcherOptions): Dispatcher {
  return new Dispatcher(options)
}

const countOf = (effects: readonly LeasedEffect[], name: string) =>
  effects.reduce((count, effect) => count + (effect.target === name ? 1 : 0), 0)

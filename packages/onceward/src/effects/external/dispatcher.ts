import type { ExternalTarget } from '../../contract/contract.ts'
import { errorText, OncewardError } from '../../errors.ts'
import { assertUsable } from '../../stores/postgres/migrate.ts'
import type { SqlPool } from '../../stores/postgres/pool.ts'
import type { Surroundings } from '../../surroundings.ts'
import { IdlePoll } from '../idle-poll.ts'
import { awayDelayMs, isPassing } from '../store-away.ts'
import { callTarget } from './call-target.ts'
import { type ClaimedEffect, ClaimUnconfirmed, claimEffects, type FreeTarget } from './claim-effects.ts'
import { decideResult } from './decide-result.ts'
import { type Judgement, judgeAnswer, judgement, notSent } from './judge-answer.ts'
import { ResultRecorder } from './result-recorder.ts'
import { resolveTargets, type Target } from './target.ts'
import { TargetGate } from './target-gate.ts'

export interface DispatcherOptions {
  readonly pool: SqlPool
  readonly targets: Readonly<Record<string, ExternalTarget>>
  readonly consumerName: string
  readonly world: Surroundings
  /** Names this process in the log. */
  readonly instance: string
  /** Default: each target's time-out and 10 s. Refused when it does not outlast a target's time-out. */
  readonly leaseMs?: number
  /**
   * Default 12 h. An intent older than this that may already have taken effect is not sent again: the target may have forgotten
   * its key by then (24 h is common). It waits as `unknown` for people to reconcile.
   */
  readonly doubtMaxMs?: number
}

export interface DispatcherTally {
  readonly claimed: number
  readonly called: number
  /** Calls by result. */
  readonly results: Readonly<Record<string, number>>
  /** Results dropped because another dispatcher had taken the row over. */
  readonly fenced: number
  readonly inFlight: number
  readonly storeAway: boolean
}

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
  readonly #poll: IdlePoll
  readonly #leaving = new AbortController()
  readonly #done = Promise.withResolvers<void>()
  readonly #results: Record<string, number> = {}
  #state: 'new' | 'running' | 'draining' | 'stopped' | 'halted' = 'new'
  #claiming = false
  #kicked = false
  #moreDue = false
  #inFlight = 0
  #claimed = 0
  #called = 0
  #fenced = 0
  #claimFailures = 0

  constructor(options: DispatcherOptions) {
    this.#options = options
    const targets = [...resolveTargets(options.targets, options.leaseMs)]
    this.#gates = new Map(targets.map(([name, target]) => [name, new TargetGate(target)]))
    this.#recorder = new ResultRecorder(options.pool, options.world, this.#leaving.signal)
    this.#poll = new IdlePoll(options.world, () => this.#pump())
    this.#done.promise.catch(() => {})
  }

  get tally(): DispatcherTally {
    return {
      claimed: this.#claimed,
      called: this.#called,
      results: { ...this.#results },
      fenced: this.#fenced,
      inFlight: this.#inFlight,
      storeAway: this.#claimFailures > 0,
    }
  }

  /** Resolves when stopped, rejects when it had to stop by itself. */
  get finished(): Promise<void> {
    return this.#done.promise
  }

  async start(): Promise<void> {
    await assertUsable(this.#options.pool)
    this.#state = 'running'
    this.#pump()
  }

  /** Something may be due now: a consumer of this process has committed. Cheap, never throws. */
  kick(): void {
    this.#kicked = true
    this.#pump()
  }

  /** Takes nothing new, finishes and records the calls in flight. Past the deadline it leaves at once. */
  async drain(deadlineMs = 30_000): Promise<void> {
    if (this.#state === 'new') this.#stop()
    if (this.#state !== 'running') return this.#state === 'draining' ? this.#done.promise : undefined
    this.#state = 'draining'
    const cancel = this.#options.world.timers.after(deadlineMs, () => this.leave())
    this.#stopIfIdle()
    await this.#done.promise.finally(cancel)
  }

  /** Aborts calls and leaves without recording them: when their leases end they count as unknown. */
  leave(): void {
    this.#leaving.abort(new OncewardError('consumer_halted', 'told to leave at once'))
    this.#stop()
  }

  #pump(): void {
    if (this.#state !== 'running' || this.#claiming) return
    this.#kicked = false
    const nowMs = this.#options.world.clock.nowMs()
    const free = [...this.#gates.values()].map(gate => gate.free(nowMs)).filter(({ slots }) => slots > 0)
    if (free.length === 0) {
      this.#poll.wait()
      return
    }
    this.#claiming = true
    void this.#claim(free).finally(() => {
      this.#claiming = false
      if (this.#kicked) this.#pump()
      this.#stopIfIdle()
    })
  }

  async #claim(free: readonly FreeTarget[]): Promise<void> {
    const { pool, consumerName, world } = this.#options
    const askedMs = world.clock.nowMs()
    try {
      const effects = await claimEffects(pool, consumerName, free)
      if (this.#claimFailures > 0) world.log.info('database answers again', this.#who())
      this.#claimFailures = 0
      this.#moreDue = free.some(({ target, slots }) => countOf(effects, target) >= slots)
      if (effects.length > 0) world.reach('dispatch.claimed')
      this.#claimed += effects.length
      if (this.#leaving.signal.aborted) return
      for (const effect of effects)
        void this.#dispatch(effect, gate => this.#reasonNotToCall(effect, gate.target, askedMs))
      this.#poll.wait({ found: effects.length > 0 })
    } catch (error) {
      this.#claimFailed(error)
    }
  }

  #claimFailed(error: unknown): void {
    const { world } = this.#options
    const unconfirmed = error instanceof ClaimUnconfirmed
    if (!isPassing(unconfirmed ? error.cause : error)) {
      this.#halt(error)
      return
    }
    if (unconfirmed) for (const effect of error.effects) void this.#dispatch(effect, () => claimLost)
    this.#moreDue = false
    if (this.#claimFailures === 0) {
      world.log.warn('database away, external calls pause; nothing is lost', {
        ...this.#who(),
        error: errorText(error),
      })
    }
    this.#poll.wait({ delayMs: awayDelayMs(this.#claimFailures++, world.random()) })
  }

  async #dispatch(effect: ClaimedEffect, reasonNotTo: (gate: TargetGate) => Judgement | null): Promise<void> {
    const gate = this.#gates.get(effect.target)!
    gate.enter()
    this.#inFlight++
    try {
      await this.#attempt(effect, gate, reasonNotTo(gate))
    } catch (error) {
      if (!this.#leaving.signal.aborted) this.#halt(error)
    } finally {
      gate.leave()
      this.#inFlight--
    }
    if (this.#moreDue) this.#pump()
    this.#stopIfIdle()
  }

  async #attempt(effect: ClaimedEffect, gate: TargetGate, known: Judgement | null): Promise<void> {
    const { world } = this.#options
    const { target } = gate
    const judged = known ?? (await this.#call(effect, gate))
    if (this.#leaving.signal.aborted) return
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

  /** The lease began after we asked for it, so it outlasts the call if asking took no longer than the margin. */
  #reasonNotToCall(effect: ClaimedEffect, target: Target, askedMs: number): Judgement | null {
    const { world, doubtMaxMs = doubtMaxDefaultMs } = this.#options
    if (effect.exhausted)
      return judgement('failed', 'all attempts are used up, and the last one was never recorded')
    if (effect.doubtful && effect.ageMs > doubtMaxMs) {
      return judgement(
        'failed',
        'it may have happened, and the target may have forgotten the key by now: reconcile before sending it again',
      )
    }
    if (world.clock.nowMs() - askedMs + target.timeoutMs < target.leaseMs) return null
    return notSent('the claim took so long that its lease would not outlast the call; nothing was sent')
  }

  async #call(effect: ClaimedEffect, gate: TargetGate): Promise<Judgement> {
    const { world } = this.#options
    const { target } = gate
    this.#called++
    const judged = judgeAnswer(await callTarget(target, effect, world.timers, this.#leaving.signal))
    if (this.#leaving.signal.aborted) return judged
    world.reach('dispatch.called')
    world.metrics.externalCall(target.name, judged.result)
    this.#results[judged.result] = (this.#results[judged.result] ?? 0) + 1
    if (judged.misconfigured) {
      world.log.error('the target does not accept our credentials: calls to it pause', {
        ...this.#who(),
        target: target.name,
        status: judged.status,
        pauseMs: target.delayMaxMs,
      })
    }
    const pauseMs = judged.misconfigured
      ? target.delayMaxMs
      : Math.min(judged.retryAfterMs ?? 0, target.delayMaxMs)
    if (pauseMs > 0) gate.close(world.clock.nowMs() + pauseMs)
    return judged
  }

  #who() {
    return { consumer: this.#options.consumerName, instance: this.#options.instance }
  }

  #halt(error: unknown): void {
    if (this.#state === 'stopped' || this.#state === 'halted') return
    this.#options.world.log.error('dispatcher halted; intents wait in the ledger', {
      ...this.#who(),
      error: errorText(error),
    })
    this.#state = 'halted'
    this.#leaving.abort(error)
    this.#poll.cancel()
    this.#done.reject(error)
  }

  #stopIfIdle(): void {
    if (this.#state === 'draining' && this.#inFlight === 0 && !this.#claiming) this.#stop()
  }

  #stop(): void {
    if (this.#state === 'stopped' || this.#state === 'halted') return
    this.#state = 'stopped'
    this.#poll.cancel()
    this.#done.resolve()
  }
}

export function createDispatcher(options: DispatcherOptions): Dispatcher {
  return new Dispatcher(options)
}

const countOf = (effects: readonly ClaimedEffect[], { name }: Target) =>
  effects.reduce((count, effect) => count + (effect.target === name ? 1 : 0), 0)

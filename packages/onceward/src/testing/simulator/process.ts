import type { Consumer } from '../../contract/define-consumer.ts'
import type { CrashPoint, Reach } from '../../crash-points.ts'
import { ConsumerProcess } from '../../engine/consumer/consumer.ts'
import { type Environment, silent } from '../../environment.ts'
import { errorCode, errorText } from '../../errors.ts'
import type { Source } from '../../ports/source.ts'
import type { Store } from '../../ports/store.ts'
import { unmeasured } from '../../telemetry/metrics.ts'
import { untraced } from '../../telemetry/traces.ts'
import { Actor } from './actor.ts'
import type { SimulatedTx } from './handler-transaction.ts'
import type { SimulatedJob } from './job.ts'
import type { Scheduler } from './scheduler.ts'

/** The parts of a schedule's processes. */
export interface ProcessParts {
  consumerOf(actor: Actor): Consumer<SimulatedJob, SimulatedTx>
  sourceOf(actor: Actor): Source
  storeOf(actor: Actor): Store<SimulatedTx>
  onHalt(why: string): void
  /** An incarnation has ended: the servers have to continue without it. */
  onEnd(actor: Actor): void
  /** False once no process is to be started again. */
  readonly restarts: boolean
}

/**
 * A slot for a consumer process: after a crash or a stop another incarnation starts in it. The engine inside
 * is the shipped one.
 */
export class SimulatedProcess {
  readonly #number: number
  readonly #scheduler: Scheduler
  readonly #parts: ProcessParts
  #incarnation = 0
  #reached: CrashPoint | null = null
  /** How far its clock is ahead of its timers. */
  #aheadMs = 0
  #actor: Actor | null = null
  #engine: ConsumerProcess<SimulatedJob, SimulatedTx> | null = null

  constructor(number: number, scheduler: Scheduler, parts: ProcessParts) {
    this.#number = number
    this.#scheduler = scheduler
    this.#parts = parts
    this.#startLater()
  }

  /** Null between two incarnations. */
  get actor(): Actor | null {
    return this.#actor
  }

  /** The last crash point this incarnation has passed. */
  get reached(): CrashPoint | null {
    return this.#reached
  }

  get running(): boolean {
    return this.#engine?.state === 'running' && this.#actor?.state === 'alive'
  }

  /** Killed: not one more instruction. */
  kill(): void {
    this.#end()
  }

  /** Its machine slept for so long. */
  suspend(ms: number): void {
    this.#aheadMs += ms
  }

  /** Asks the engine to stop. Resolves when it has. */
  drain(): Promise<void> {
    return this.#engine!.drain()
  }

  #startLater(): void {
    this.#scheduler.offer(null, `process ${this.#number} starts`, () => this.#start())
  }

  #start(): void {
    const name = `p${this.#number}${this.#incarnation > 0 ? `.${this.#incarnation}` : ''}`
    const actor = new Actor(this.#number, name)
    this.#incarnation++
    this.#reached = null
    this.#actor = actor
    const engine = new ConsumerProcess<SimulatedJob, SimulatedTx>({
      consumer: this.#parts.consumerOf(actor),
      source: this.#parts.sourceOf(actor),
      store: this.#parts.storeOf(actor),
      env: environmentOf(actor, this.#scheduler, {
        reach: point => this.#reach(actor, point),
        nowMs: () => this.#scheduler.nowMs + this.#aheadMs,
      }),
      instance: name,
    })
    this.#engine = engine
    const ended = (why: string | null) => {
      if (this.#engine !== engine) return
      if (why !== null) this.#parts.onHalt(`${name} ${why}`)
      this.#end()
    }
    // A start that an unavailable store refuses ends the process, as in production; a supervisor starts it
    // again.
    engine
      .start()
      .catch(error => ended(errorCode(error) === 'ECONNREFUSED' ? null : `cannot start: ${errorText(error)}`))
    engine.finished.then(
      () => ended(null),
      error => ended(`halted: ${errorText(error)}`),
    )
  }

  #reach(actor: Actor, point: CrashPoint): void {
    if (this.#actor === actor) this.#reached = point
    if (this.#scheduler.trace.on) this.#scheduler.remark(`${actor.name} reaches ${point}`)
  }

  #end(): void {
    const actor = this.#actor!
    actor.die()
    this.#actor = null
    this.#engine = null
    this.#parts.onEnd(actor)
    if (this.#parts.restarts) this.#startLater()
  }
}

function environmentOf(
  actor: Actor,
  scheduler: Scheduler,
  { reach, nowMs }: { readonly reach: Reach; readonly nowMs: () => number },
): Environment {
  return {
    clock: { nowMs },
    timers: {
      after: (delayMs, callback) => scheduler.after(actor, delayMs, callback),
      soon: callback => void scheduler.offer(actor, 'soon', () => actor.hear(callback), { local: true }),
    },
    random: scheduler.draws.next,
    log: silent,
    metrics: unmeasured,
    traces: untraced,
    reach,
  }
}

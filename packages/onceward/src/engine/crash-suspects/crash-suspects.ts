import type { Environment } from '../../environment.ts'
import { errorText, OncewardError } from '../../errors.ts'
import type { Enrolment } from '../../ports/enrolment.ts'
import type { Delivery, Ownership } from '../../ports/source.ts'
import { type SilentRun, type SuspectStore, silentAfterMs } from '../../ports/suspects.ts'

/** How often a run sends a heartbeat. */
const beatMs = 2_000

/**
 * How long deliveries are checked because of one silent run. Brokers redeliver within their leases and
 * session timeouts.
 */
const suspectMs = 5 * 60_000

/** In place of a run id: suspected until it is decided, regardless of any run. */
const always = -1

export interface CrashSuspectsOptions {
  readonly suspects: SuspectStore
  readonly enrolment: Enrolment
  readonly env: Environment
  /** The lease of stored work: the work of a crashed worker is redelivered after it expires. */
  readonly leaseMs: number
  /** False after the source has withdrawn the delivery. */
  readonly isLive: (delivery: Delivery) => boolean
  /** The store answers a heartbeat with an error that needs an operator. */
  readonly onRefused: (error: OncewardError) => void
  /** Fewer deliveries are suspected: more may be processed at once. */
  readonly onSuspectsCleared: () => void
}

/**
 * Which deliveries may have crashed a process. A run that was never closed and sends no heartbeat has
 * crashed, or counts as crashed until it sends one. Suspects are redelivered messages and, on logs, the
 * first records after that run's position. There are only as many suspects as the run can have held, and only
 * for a limited time: a broker that redelivers thousands of messages must not slow the consumer down.
 *
 *   silent run ──▶ suspects, in groups halved at each crash ──▶ run cleared for all processes
 *
 * The run is cleared when all suspects are processed, the cause is found, or the time has elapsed.
 */
export class CrashSuspects {
  readonly #options: CrashSuspectsOptions
  readonly #silent = new Map<number, { readonly deliveriesMax: number; readonly cancel: () => void }>()
  /** Suspects that are not cleared yet; on logs with the run that each is suspected for. */
  readonly #suspects = new Map<Delivery, number | null>()
  /** The largest group in which a suspect may be tried, if a process crashed on it before. */
  readonly #limits = new WeakMap<Delivery, number>()
  /** Per partition: the silent run that owned it, and how many more of its records are suspects. */
  readonly #windows = new Map<string, { readonly runId: number; left: number }>()
  #through = 0
  /** A cause was found, and no run fell silent since: abandoned work does not indicate another cause. */
  #explained = false
  #cancelBeat: () => void = () => {}
  #stopped = false

  constructor(options: CrashSuspectsOptions) {
    this.#options = options
  }

  /** Sends the first heartbeat, before anything is received. Rejects if the store does. */
  async begin(): Promise<void> {
    await this.#beat()
    this.#beatLater()
  }

  stop(): void {
    this.#stopped = true
    this.#cancelBeat()
    for (const { cancel } of this.#silent.values()) cancel()
  }

  get any(): boolean {
    return this.#suspects.size > 0
  }

  /** Called with newly assigned partitions: records after a silent run's position become suspects. */
  partitionsTaken(partitions: readonly Ownership[]): void {
    for (const { partition, lastRun } of partitions) {
      const run = lastRun === null ? undefined : this.#silent.get(lastRun)
      if (run === undefined) this.#windows.delete(partition)
      else this.#windows.set(partition, { runId: lastRun!, left: run.deliveriesMax })
    }
  }

  /** Called with every delivery that arrives. */
  arrived(deliveries: readonly Delivery[]): void {
    const before = this.#suspects.size
    for (const delivery of deliveries) {
      if (delivery.held !== undefined) {
        if (delivery.held.abandoned && !this.#explained) this.#suspects.set(delivery, null)
      } else if (this.#silent.size > 0) this.#suspectIfHeldBefore(delivery)
    }
    if (before === 0 && this.#suspects.size > 0) this.#warn()
  }

  suspects(delivery: Delivery): boolean {
    return this.#suspects.has(delivery)
  }

  groupLimit(delivery: Delivery): number {
    return this.#limits.get(delivery) ?? Number.POSITIVE_INFINITY
  }

  limitGroup(delivery: Delivery, limit: number): void {
    this.#limits.set(delivery, limit)
  }

  /** The process survived this delivery. */
  cleared(delivery: Delivery): void {
    const runId = this.#suspects.get(delivery)
    this.#suspects.delete(delivery)
    // A partition has its own window, and stored work has a lease.
    if (runId !== null || delivery.held !== undefined) return
    this.#through++
    let held = 0
    for (const { deliveriesMax } of this.#silent.values()) held += deliveriesMax
    if (this.#through >= held) this.#forgive([...this.#silent.keys()])
  }

  /** The delivery is the cause, and its lane waits for it: it is always tried alone. */
  keep(delivery: Delivery): void {
    this.#suspects.set(delivery, always)
    this.#limits.set(delivery, 1)
  }

  /** The cause of the crashes is found: no other delivery is suspected of them. */
  explained(delivery: Delivery): void {
    this.#suspects.delete(delivery)
    this.#explained = true
    this.#forgive([...this.#silent.keys()])
    this.#clearSuspects()
  }

  #suspectIfHeldBefore(delivery: Delivery): void {
    const window = delivery.place === null ? undefined : this.#windows.get(delivery.partition)
    if (window !== undefined && window.left > 0) {
      window.left--
      if (this.#silent.has(window.runId)) this.#suspects.set(delivery, window.runId)
    } else if (delivery.redelivered) this.#suspects.set(delivery, null)
  }

  #forgive(runIds: readonly number[]): void {
    const { suspects, enrolment, env } = this.#options
    if (runIds.length === 0) return
    for (const runId of runIds) this.#forget(runId)
    this.#clearSuspects()
    // If this fails, the runs only cost the next process some time.
    suspects.clear(enrolment, runIds).catch(error => {
      const fields = { consumer: enrolment.facts.name, error: errorText(error) }
      env.log.warn('could not record that silent runs are cleared', fields)
    })
  }

  #beatLater(): void {
    this.#cancelBeat = this.#options.env.timers.after(beatMs, () => {
      this.#beatLater()
      this.#beat().catch(error => {
        if (error instanceof OncewardError && error.code === 'server_changed') this.#options.onRefused(error)
      })
    })
  }

  async #beat(): Promise<void> {
    const { suspects, enrolment, isLive, env } = this.#options
    const runs = await suspects.beat(enrolment, silentAfterMs, env.clock)
    const silent = new Map(runs.map(run => [run.runId, run]))
    if (this.#stopped) return
    for (const runId of this.#silent.keys()) if (!silent.has(runId)) this.#forget(runId)
    for (const run of silent.values()) if (!this.#silent.has(run.runId)) this.#suspect(run)
    for (const delivery of this.#suspects.keys()) if (!isLive(delivery)) this.#suspects.delete(delivery)
    this.#clearSuspects()
  }

  #suspect({ runId, deliveriesMax }: SilentRun): void {
    const { env, leaseMs } = this.#options
    const cancel = env.timers.after(Math.max(suspectMs, 3 * leaseMs), () => this.#forgive([runId]))
    this.#silent.set(runId, { deliveriesMax, cancel })
    this.#explained = false
  }

  #warn(): void {
    const { env, enrolment } = this.#options
    env.log.warn('a process may have crashed: its messages are processed in small groups', {
      consumer: enrolment.facts.name,
      silentRuns: [...this.#silent.keys()],
    })
  }

  #forget(runId: number): void {
    this.#silent.get(runId)?.cancel()
    this.#silent.delete(runId)
  }

  /** Removes suspects whose runs sent a heartbeat or were cleared. */
  #clearSuspects(): void {
    if (this.#silent.size === 0) this.#through = 0
    const before = this.#suspects.size
    for (const [delivery, runId] of this.#suspects) {
      const stays =
        runId === always ||
        (delivery.held !== undefined && !this.#explained) ||
        (runId === null ? this.#silent.size > 0 : this.#silent.has(runId))
      if (!stays) this.#suspects.delete(delivery)
    }
    if (this.#suspects.size < before) this.#options.onSuspectsCleared()
  }
}

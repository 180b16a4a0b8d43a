import type { Environment } from '../../environment.ts'
import { errorText, OncewardError } from '../../errors.ts'
import type { Delivery, Ownership } from '../../ports/source.ts'
import type { Enrolment } from '../../ports/store.ts'
import { type SilentRun, type SuspectLedger, silentAfterMs } from '../../ports/suspects.ts'

/** How often a run says that it lives. */
const beatMs = 2_000

/**
 * How long deliveries are looked at because of one silent run: brokers hand over again within their leases
 * and session timeouts.
 */
const suspectMs = 5 * 60_000

/** In place of a run: whatever happens to those. */
const always = -1

export interface CrashSuspectsOptions {
  readonly ledger: SuspectLedger
  readonly enrolment: Enrolment
  readonly env: Environment
  /** A lease of held work: as long again until what its dead holder had is handed over. */
  readonly leaseMs: number
  /** False once the source has taken the delivery back. */
  readonly isLive: (delivery: Delivery) => boolean
  /** The store answers a sign of life with an error that only people can mend. */
  readonly onRefused: (error: OncewardError) => void
  /** CrashSuspects was lifted: more may be taken at once. */
  readonly onLifted: () => void
}

/**
 * Which deliveries may have killed a process. A run that was never closed and is not heard of died, or is
 * taken for dead until it is heard; what the broker hands over again, and on logs the first records after
 * where that run stood, may be why. Only as many as it can have held, and only for a while: a broker that
 * hands thousands over again must not make a consumer crawl.
 *
 *   silent run ──▶ suspects, in groups that are halved at each death ──▶ all through, cause found, or time over ──▶ cleared for everybody
 */
export class CrashSuspects {
  readonly #options: CrashSuspectsOptions
  readonly #silent = new Map<number, { readonly deliveriesMax: number; readonly cancel: () => void }>()
  /** Suspects that are not through, and on logs the run each is suspected for. */
  readonly #suspects = new Map<Delivery, number | null>()
  /** The largest group in which a suspect may be tried, where a process died over it before. */
  readonly #limits = new WeakMap<Delivery, number>()
  /** Of each partition: the silent run that had it, and how many more of its records count. */
  readonly #windows = new Map<string, { readonly runId: number; left: number }>()
  #through = 0
  /** A cause was found, and nobody fell silent since: abandoned work is no sign of another. */
  #explained = false
  #cancelBeat: () => void = () => {}
  #stopped = false

  constructor(options: CrashSuspectsOptions) {
    this.#options = options
  }

  /** The first beat, before anything is taken. Rejects when the store does. */
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

  /** Partitions became ours: what a silent run had is looked at from where it stood. */
  took(partitions: readonly Ownership[]): void {
    for (const { partition, lastRun } of partitions) {
      const run = lastRun === null ? undefined : this.#silent.get(lastRun)
      if (run === undefined) this.#windows.delete(partition)
      else this.#windows.set(partition, { runId: lastRun!, left: run.deliveriesMax })
    }
  }

  /** Called with everything that arrives. */
  look(deliveries: readonly Delivery[]): void {
    const before = this.#suspects.size
    for (const delivery of deliveries) {
      if (delivery.held !== undefined) {
        if (delivery.held.abandoned && !this.#explained) this.#suspects.set(delivery, null)
      } else if (this.#silent.size > 0) this.#lookAt(delivery)
    }
    if (before === 0 && this.#suspects.size > 0) this.#tell()
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

  /** Its process survived it. */
  cleared(delivery: Delivery): void {
    const runId = this.#suspects.get(delivery)
    this.#suspects.delete(delivery)
    // A partition has a window of its own, and held work a lease.
    if (runId !== null || delivery.held !== undefined) return
    this.#through++
    let held = 0
    for (const { deliveriesMax } of this.#silent.values()) held += deliveriesMax
    if (this.#through >= held) this.#forgive([...this.#silent.keys()])
  }

  /** The cause, which its lane is to wait for: never tried beside others. */
  keep(delivery: Delivery): void {
    this.#suspects.set(delivery, always)
    this.#limits.set(delivery, 1)
  }

  /** The deaths so far have their cause: nobody else is suspected of them. */
  explained(delivery: Delivery): void {
    this.#suspects.delete(delivery)
    this.#explained = true
    this.#forgive([...this.#silent.keys()])
    this.#lift()
  }

  #lookAt(delivery: Delivery): void {
    const window = delivery.place === null ? undefined : this.#windows.get(delivery.partition)
    if (window !== undefined && window.left > 0) {
      window.left--
      if (this.#silent.has(window.runId)) this.#suspects.set(delivery, window.runId)
    } else if (delivery.redelivered) this.#suspects.set(delivery, null)
  }

  #forgive(runIds: readonly number[]): void {
    const { ledger, enrolment, env } = this.#options
    if (runIds.length === 0) return
    for (const runId of runIds) this.#forget(runId)
    this.#lift()
    // Left open they only cost the next process some time.
    ledger.clear(enrolment, runIds).catch(error => {
      const fields = { consumer: enrolment.facts.name, error: errorText(error) }
      env.log.warn('could not note that silent runs are dealt with', fields)
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
    const { ledger, enrolment, isLive, env } = this.#options
    const runs = await ledger.beat(enrolment, silentAfterMs, env.clock)
    const silent = new Map(runs.map(run => [run.runId, run]))
    if (this.#stopped) return
    for (const runId of this.#silent.keys()) if (!silent.has(runId)) this.#forget(runId)
    for (const run of silent.values()) if (!this.#silent.has(run.runId)) this.#suspect(run)
    for (const delivery of this.#suspects.keys()) if (!isLive(delivery)) this.#suspects.delete(delivery)
    this.#lift()
  }

  #suspect({ runId, deliveriesMax }: SilentRun): void {
    const { env, leaseMs } = this.#options
    const cancel = env.timers.after(Math.max(suspectMs, 3 * leaseMs), () => this.#forgive([runId]))
    this.#silent.set(runId, { deliveriesMax, cancel })
    this.#explained = false
  }

  #tell(): void {
    const { env, enrolment } = this.#options
    env.log.warn('a process seems to have died: what it may have died over is taken in small groups', {
      consumer: enrolment.facts.name,
      silentRuns: [...this.#silent.keys()],
    })
  }

  #forget(runId: number): void {
    this.#silent.get(runId)?.cancel()
    this.#silent.delete(runId)
  }

  /** What is left of the suspects when runs were heard of or cleared. */
  #lift(): void {
    if (this.#silent.size === 0) this.#through = 0
    const before = this.#suspects.size
    for (const [delivery, runId] of this.#suspects) {
      const stays =
        runId === always ||
        (delivery.held !== undefined && !this.#explained) ||
        (runId === null ? this.#silent.size > 0 : this.#silent.has(runId))
      if (!stays) this.#suspects.delete(delivery)
    }
    if (this.#suspects.size < before) this.#options.onLifted()
  }
}

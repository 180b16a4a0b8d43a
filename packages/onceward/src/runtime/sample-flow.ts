import type { SqlPool } from '../drivers/postgres/pool.ts'
import { type FlowCounts, writeSample } from '../drivers/postgres/run/write-sample.ts'
import type { ConsumerProcess } from '../engine/consumer/consumer.ts'
import type { Environment } from '../environment.ts'
import { errorText } from '../errors.ts'

type Sampled = Pick<ConsumerProcess<unknown, never>, 'tally' | 'lag' | 'enrolment'>

export interface FlowSamplerOptions {
  readonly processes: () => readonly Sampled[]
  readonly pool: SqlPool
  readonly env: Pick<Environment, 'timers' | 'log'>
  /** Default 15 s. */
  readonly everyMs?: number
}

/**
 * Writes what this process did, for a console without a metrics server: one short statement per run every 15
 * seconds. Nothing depends on a sample, so an error is logged once and the next one is tried.
 */
export class FlowSampler {
  readonly #options: FlowSamplerOptions
  readonly #written = new Map<number, FlowCounts>()
  #cancel: () => void = () => {}
  #writing: Promise<void> = Promise.resolve()
  #isClosed = false
  #failed = false

  constructor(options: FlowSamplerOptions) {
    this.#options = options
    this.#later()
  }

  /** Resolves when the current statement has ended. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#cancel()
    await this.#writing
  }

  #later(): void {
    if (this.#isClosed) return
    this.#cancel = this.#options.env.timers.after(this.#options.everyMs ?? 15_000, () => {
      this.#writing = this.#write().finally(() => this.#later())
    })
  }

  async #write(): Promise<void> {
    const { processes, pool, env } = this.#options
    for (const { enrolment, tally, lag } of processes()) {
      if (enrolment === null) continue
      const counts = countsOf(tally.outcomes)
      try {
        await writeSample(pool, enrolment, since(counts, this.#written.get(enrolment.runId)), lag)
        this.#written.set(enrolment.runId, counts)
        this.#failed = false
      } catch (error) {
        if (!this.#failed && !this.#isClosed) env.log.warn('rates not recorded', { error: errorText(error) })
        this.#failed = true
      }
    }
  }
}

function countsOf(outcomes: Readonly<Record<string, number>>): FlowCounts {
  const sum = (...names: readonly string[]) => names.reduce((total, name) => total + (outcomes[name] ?? 0), 0)
  return {
    applied: sum('applied'),
    duplicates: sum('duplicate'),
    setAside: sum('parked', 'dead-lettered', 'quarantined'),
    failed: sum('retry', 'deferred', 'rerouted'),
  }
}

function since(now: FlowCounts, before: FlowCounts | undefined): FlowCounts {
  if (before === undefined) return now
  return {
    applied: now.applied - before.applied,
    duplicates: now.duplicates - before.duplicates,
    setAside: now.setAside - before.setAside,
    failed: now.failed - before.failed,
  }
}

import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { SimulationOptions, SimulationReport } from 'onceward/testing'

/** Simulations in a thread of their own; see `worker.ts`. */
export class SimulationThread {
  readonly #worker = new Worker(new URL('./worker.ts', import.meta.url))

  async run(options: SimulationOptions): Promise<SimulationReport> {
    this.#worker.postMessage(options)
    const [{ report, error }] = (await once(this.#worker, 'message')) as [
      { report: SimulationReport; error?: string },
    ]
    if (error !== undefined) throw new Error(error)
    return report
  }

  end(): Promise<number> {
    return this.#worker.terminate()
  }
}

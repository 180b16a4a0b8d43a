import type { LocalHandoff } from '../engine/batch/local-handoff.ts'
import type { ConsumerProcess } from '../engine/consumer/consumer.ts'
import { errorText } from '../errors.ts'
import { createWorker, leavesWork, type WorkerOptions } from './create-worker.ts'

const lookMs = 1_000

/** What the store knows of messages that an operator released. */
export interface ReleasedWork {
  /** Null until the consumer has run once. `released`: keys that may be live again. */
  look(
    name: string,
    generation: number,
  ): Promise<{ readonly id: number; readonly work: boolean; readonly released: boolean } | null>
  sweepKeys(consumerId: number): Promise<void>
}

export interface OnDemandOptions<M, Tx> extends WorkerOptions<M, Tx> {
  /** Absent when the store cannot be queried: then no worker starts on demand. */
  readonly released?: ReleasedWork | undefined
}

/**
 * The worker of a consumer. If the contract leaves work for later, it starts at once. Otherwise it starts
 * when an operator releases parked messages, so that a consumer without them pays one short query a second.
 * In both cases the query returns keys to the live flow.
 */
export class WorkerOnDemand<M, Tx> {
  readonly finished: Promise<void>
  readonly #options: OnDemandOptions<M, Tx>
  readonly #end = Promise.withResolvers<void>()
  #worker: ReturnType<typeof createWorker<M, Tx>> | null = null
  #looking: Promise<void> = Promise.resolve()
  readonly #reported = new Set<string>()
  #closed = false
  #cancel: () => void = () => {}

  constructor(options: OnDemandOptions<M, Tx>) {
    this.#options = options
    if (leavesWork(options.consumer)) {
      this.#worker = createWorker(options)
      // Before it starts: a start that fails elsewhere leaves this worker and waits for its end.
      this.#endWith(this.#worker)
    }
    this.finished = this.#end.promise
    this.finished.catch(() => {})
  }

  /** Null while there is no worker. */
  get process(): ConsumerProcess<M, Tx> | null {
    return this.#worker?.process ?? null
  }

  /** Receives the work of a consumer in stored mode; absent while there is no worker. */
  get localHandoff(): LocalHandoff | undefined {
    return this.#worker?.localHandoff
  }

  async start(): Promise<void> {
    await this.#worker?.start()
    if (this.#options.mode === 'live' && this.#options.released !== undefined) this.#lookLater()
  }

  kick(): void {
    this.#worker?.kick()
  }

  async drain(deadlineMs?: number): Promise<void> {
    this.#close()
    await this.#looking
    if (this.#worker === null) this.#end.resolve()
    else await this.#worker.drain(deadlineMs)
  }

  leave(): void {
    this.#close()
    if (this.#worker === null) void this.#looking.then(() => this.#worker?.leave() ?? this.#end.resolve())
    else this.#worker.leave()
  }

  #close(): void {
    this.#closed = true
    this.#cancel()
  }

  #endWith(worker: ReturnType<typeof createWorker<M, Tx>>): void {
    worker.finished.then(this.#end.resolve, this.#end.reject)
  }

  #lookLater(): void {
    this.#cancel = this.#options.env.timers.after(lookMs, () => {
      this.#looking = this.#look()
        .then(
          () => this.#reported.clear(),
          (error: unknown) => this.#sayOnce(errorText(error)),
        )
        .then(() => {
          if (!this.#closed) this.#lookLater()
        })
    })
  }

  /** Logs each error once: an hour of outage would be 3,600 lines. */
  #sayOnce(error: string): void {
    if (this.#reported.has(error)) return
    this.#reported.add(error)
    const { env, consumer } = this.#options
    env.log.warn('released messages wait: the query for them failed', { consumer: consumer.name, error })
  }

  async #look(): Promise<void> {
    const { store, consumer, released } = this.#options
    const found = await released!.look(consumer.name, consumer.generation)
    if (found === null || this.#closed) return
    if (found.released) await released!.sweepKeys(found.id)
    if (!found.work) return
    await this.#startWorker()
    await consumer.effect?.apply?.releaseWaiting?.(store.sql!.query, found.id)
  }

  async #startWorker(): Promise<void> {
    if (this.#worker !== null) return this.#worker.kick()
    const { consumer, env } = this.#options
    const worker = createWorker(this.#options)
    await worker.start()
    this.#endWith(worker)
    this.#worker = worker
    env.log.info('worker started for released messages', { consumer: consumer.name })
    if (this.#closed) worker.leave()
  }
}

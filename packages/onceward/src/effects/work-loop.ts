import { assertUsable } from '../drivers/postgres/assert-usable.ts'
import type { SqlPool } from '../drivers/postgres/pool.ts'
import type { Environment, LogFields } from '../environment.ts'
import { errorText, OncewardError } from '../errors.ts'
import { IdlePoll } from './idle-poll.ts'
import { isTransient, unavailableDelayMs } from './store-unavailable.ts'

/** The result of a poll. `more`: further work may be waiting. Null when the database was not asked. */
export type PollResult = { readonly found: boolean; readonly more?: boolean } | null

export interface WorkLoopOptions {
  readonly pool: SqlPool
  readonly env: Environment
  /** Takes work from the database. Called while running, never concurrently. */
  readonly poll: () => Promise<PollResult>
  /** False while work that a poll started is in progress. */
  readonly idle: () => boolean
  /** Whether `leave` waits for the poll it interrupts, which may have to return a connection. */
  readonly leaving: 'at once' | 'after the poll'
  readonly logFields: LogFields
  readonly logMessages: { readonly unavailable: string; readonly halted: string }
}

/**
 * The states of a dispatcher or a relay:
 *
 *   new ──start──▶ running ──drain, leave──▶ draining ──idle──▶ stopped
 *                     └── an error that is not transient ──▶ halted
 *
 * While running it polls when kicked, when a poll found more, and by its timer. An unavailable database only
 * slows the timer.
 */
export class WorkLoop {
  readonly #options: WorkLoopOptions
  readonly #timer: IdlePoll
  readonly #leaving = new AbortController()
  readonly #done = Promise.withResolvers<void>()
  #state: 'new' | 'running' | 'draining' | 'stopped' | 'halted' = 'new'
  #polling = false
  #kicked = false
  #failures = 0

  constructor(options: WorkLoopOptions) {
    this.#options = options
    this.#timer = new IdlePoll(options.env, () => this.pump())
    this.#done.promise.catch(() => {})
  }

  /** Aborted when all work in progress must be abandoned. */
  get signal(): AbortSignal {
    return this.#leaving.signal
  }

  get storeUnavailable(): boolean {
    return this.#failures > 0
  }

  get finished(): Promise<void> {
    return this.#done.promise
  }

  async start(): Promise<void> {
    await assertUsable(this.#options.pool)
    this.#state = 'running'
    this.pump()
  }

  /** Polls now, or right after the poll in progress. */
  kick(): void {
    this.#kicked = true
    this.pump()
  }

  /** Polls now, unless a poll is in progress. */
  pump(): void {
    if (this.#state !== 'running' || this.#polling) return
    this.#polling = true
    this.#kicked = false
    void this.#poll().finally(() => {
      this.#polling = false
      if (this.#kicked) this.pump()
      this.stopIfIdle()
    })
  }

  async drain(deadlineMs = 25_000): Promise<void> {
    if (this.#state === 'new') this.#stop()
    if (this.#state !== 'running') return this.#state === 'draining' ? this.#done.promise : undefined
    this.#state = 'draining'
    const cancel = this.#options.env.timers.after(deadlineMs, () => this.leave())
    this.stopIfIdle()
    await this.#done.promise.finally(cancel)
  }

  leave(): void {
    this.#leaving.abort(new OncewardError('consumer_halted', 'stopped before its work was finished'))
    if (this.#state === 'new' || this.#state === 'running') this.#state = 'draining'
    if (this.#options.leaving === 'at once') this.#stop()
    else this.stopIfIdle()
  }

  /** Called whenever work that a poll started has ended. */
  stopIfIdle(): void {
    if (this.#state === 'draining' && !this.#polling && this.#options.idle()) this.#stop()
  }

  halt(error: unknown): void {
    if (this.#state === 'stopped' || this.#state === 'halted') return
    const { env, logFields, logMessages } = this.#options
    env.log.error(logMessages.halted, { ...logFields, error: errorText(error) })
    this.#state = 'halted'
    this.#leaving.abort(error)
    this.#timer.cancel()
    this.#done.reject(error)
  }

  async #poll(): Promise<void> {
    const { poll, env, logFields } = this.#options
    try {
      const found = await poll()
      if (found !== null && this.#failures > 0) {
        env.log.info('database available again', logFields)
        this.#failures = 0
      }
      if (found?.more) this.#kicked = true
      this.#waitForNext({ found: found?.found === true })
    } catch (error) {
      if (!this.signal.aborted) this.#failed(error)
    }
  }

  #failed(error: unknown): void {
    const { env, logFields, logMessages } = this.#options
    if (!isTransient(error)) return this.halt(error)
    if (this.#failures === 0) env.log.warn(logMessages.unavailable, { ...logFields, error: errorText(error) })
    this.#waitForNext({ delayMs: unavailableDelayMs(this.#failures++, env.random()) })
  }

  #waitForNext(wait: { readonly found?: boolean; readonly delayMs?: number }): void {
    if (this.#state === 'running') this.#timer.wait(wait)
  }

  #stop(): void {
    if (this.#state === 'stopped' || this.#state === 'halted') return
    this.#state = 'stopped'
    this.#timer.cancel()
    this.#done.resolve()
  }
}

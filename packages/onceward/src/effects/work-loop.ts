import { assertUsable } from '../drivers/postgres/migrate.ts'
import type { SqlPool } from '../drivers/postgres/pool.ts'
import type { Environment, LogFields } from '../environment.ts'
import { errorText, OncewardError } from '../errors.ts'
import { IdlePoll } from './idle-poll.ts'
import { awayDelayMs, isPassing } from './store-away.ts'

/** What a look brought: `more` means that others may be waiting. Null when nobody was asked. */
export type RoundResult = { readonly found: boolean; readonly more?: boolean } | null

export interface WorkLoopOptions {
  readonly pool: SqlPool
  readonly env: Environment
  /** Takes work from the database. Called while running, never twice at a time. */
  readonly look: () => Promise<RoundResult>
  /** False while something that a look began is still under way. */
  readonly idle: () => boolean
  /** Whether `leave` waits for the look it interrupts, as what must return a connection does. */
  readonly leaving: 'at once' | 'after the look'
  /** For the log. */
  readonly who: LogFields
  readonly words: { readonly away: string; readonly halted: string }
}

/**
 * The life of a dispatcher or a relay:
 *
 *   new ──start──▶ running ──drain, leave──▶ draining ──idle──▶ stopped
 *                     └── an error that does not pass by itself ──▶ halted
 *
 * While running it looks when kicked, when a look found more, and by its poll. A database that is away only
 * slows the poll.
 */
export class WorkLoop {
  readonly #options: WorkLoopOptions
  readonly #poll: IdlePoll
  readonly #leaving = new AbortController()
  readonly #done = Promise.withResolvers<void>()
  #state: 'new' | 'running' | 'draining' | 'stopped' | 'halted' = 'new'
  #looking = false
  #kicked = false
  #failures = 0

  constructor(options: WorkLoopOptions) {
    this.#options = options
    this.#poll = new IdlePoll(options.env, () => this.pump())
    this.#done.promise.catch(() => {})
  }

  /** Aborted when everything under way is to be given up. */
  get signal(): AbortSignal {
    return this.#leaving.signal
  }

  get storeAway(): boolean {
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

  /** Looks now, or right after the look that is under way. */
  kick(): void {
    this.#kicked = true
    this.pump()
  }

  /** Looks now, unless a look is under way. */
  pump(): void {
    if (this.#state !== 'running' || this.#looking) return
    this.#looking = true
    this.#kicked = false
    void this.#look().finally(() => {
      this.#looking = false
      if (this.#kicked) this.pump()
      this.stopIfIdle()
    })
  }

  async drain(deadlineMs = 30_000): Promise<void> {
    if (this.#state === 'new') this.#stop()
    if (this.#state !== 'running') return this.#state === 'draining' ? this.#done.promise : undefined
    this.#state = 'draining'
    const cancel = this.#options.env.timers.after(deadlineMs, () => this.leave())
    this.stopIfIdle()
    await this.#done.promise.finally(cancel)
  }

  leave(): void {
    this.#leaving.abort(new OncewardError('consumer_halted', 'told to leave at once'))
    if (this.#state === 'new' || this.#state === 'running') this.#state = 'draining'
    if (this.#options.leaving === 'at once') this.#stop()
    else this.stopIfIdle()
  }

  /** Called whenever something a look began has ended. */
  stopIfIdle(): void {
    if (this.#state === 'draining' && !this.#looking && this.#options.idle()) this.#stop()
  }

  halt(error: unknown): void {
    if (this.#state === 'stopped' || this.#state === 'halted') return
    const { env, who, words } = this.#options
    env.log.error(words.halted, { ...who, error: errorText(error) })
    this.#state = 'halted'
    this.#leaving.abort(error)
    this.#poll.cancel()
    this.#done.reject(error)
  }

  async #look(): Promise<void> {
    const { look, env, who } = this.#options
    try {
      const found = await look()
      if (found !== null && this.#failures > 0) {
        env.log.info('database answers again', who)
        this.#failures = 0
      }
      if (found?.more) this.#kicked = true
      this.#waitForNext({ found: found?.found === true })
    } catch (error) {
      if (!this.signal.aborted) this.#failed(error)
    }
  }

  #failed(error: unknown): void {
    const { env, who, words } = this.#options
    if (!isPassing(error)) return this.halt(error)
    if (this.#failures === 0) env.log.warn(words.away, { ...who, error: errorText(error) })
    this.#waitForNext({ delayMs: awayDelayMs(this.#failures++, env.random()) })
  }

  #waitForNext(wait: { readonly found?: boolean; readonly delayMs?: number }): void {
    if (this.#state === 'running') this.#poll.wait(wait)
  }

  #stop(): void {
    if (this.#state === 'stopped' || this.#state === 'halted') return
    this.#state = 'stopped'
    this.#poll.cancel()
    this.#done.resolve()
  }
}

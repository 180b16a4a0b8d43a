import { errorText, OncewardError } from '../../errors.ts'
import { assertUsable } from '../../stores/postgres/migrate.ts'
import type { SqlClient, SqlPool } from '../../stores/postgres/pool.ts'
import type { Surroundings } from '../../surroundings.ts'
import { IdlePoll } from '../idle-poll.ts'
import { awayDelayMs, isPassing } from '../store-away.ts'
import { FailedRows } from './failed-rows.ts'
import type { Publisher } from './publisher.ts'
import { type OutboxRow, takeOutbox } from './take-outbox.ts'

export interface RelayOptions {
  readonly pool: SqlPool
  /** Which rows of the outbox: those written for `rabbitmq` or `postgres`. */
  readonly broker: string
  /** Not closed by the relay. */
  readonly publisher: Publisher
  readonly world: Surroundings
  /** Rows in one round at most. Default 200. */
  readonly batchMax?: number
  /** Default 15 s. A round whose confirms take longer gives its rows back. */
  readonly publishTimeoutMs?: number
}

export interface RelayTally {
  readonly published: number
  readonly failures: number
  /** Rows that failed lately and are left alone for a while. */
  readonly failing: number
  readonly storeAway: boolean
}

const idleMarginMs = 5_000

/**
 * Carries outbox rows to their broker. One round at a time, in one transaction:
 *
 *   lock rows ──▶ publish ──▶ all answered ──▶ delete the confirmed ──▶ commit
 *                    └── too late, or died ──▶ rollback: rows and locks are free again, copies have the same id
 *
 * Deleting only after the confirm makes it at least once; the stable message id makes the second copy a duplicate. Several relays
 * share by skipping each other's locked rows. The server ends a round whose process is frozen.
 */
export class Relay {
  readonly #options: RelayOptions
  readonly #failed: FailedRows
  readonly #poll: IdlePoll
  readonly #leaving = new AbortController()
  readonly #done = Promise.withResolvers<void>()
  #state: 'new' | 'running' | 'draining' | 'stopped' | 'halted' = 'new'
  #busy = false
  #kicked = false
  #published = 0
  #failures = 0
  #roundFailures = 0

  constructor(options: RelayOptions) {
    this.#options = options
    this.#failed = new FailedRows(options.world)
    this.#poll = new IdlePoll(options.world, () => this.#pump())
    this.#done.promise.catch(() => {})
  }

  get tally(): RelayTally {
    return {
      published: this.#published,
      failures: this.#failures,
      failing: this.#failed.count,
      storeAway: this.#roundFailures > 0,
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

  /** There may be new rows: a consumer of this process has committed. Cheap, never throws. */
  kick(): void {
    this.#kicked = true
    this.#pump()
  }

  /** Finishes the round it is in, begins no other. Past the deadline it leaves at once. */
  async drain(deadlineMs = 30_000): Promise<void> {
    if (this.#state === 'new') this.#state = 'running'
    if (this.#state !== 'running') return this.#state === 'draining' ? this.#done.promise : undefined
    this.#state = 'draining'
    const cancel = this.#options.world.timers.after(deadlineMs, () => this.leave())
    this.#stopIfIdle()
    await this.#done.promise.finally(cancel)
  }

  /** Gives the rows of an open round back: what was published of them is published again under the same ids. */
  leave(): void {
    this.#leaving.abort(new OncewardError('consumer_halted', 'told to leave at once'))
    if (this.#state === 'new' || this.#state === 'running') this.#state = 'draining'
    this.#stopIfIdle()
  }

  #pump(): void {
    if (this.#state !== 'running' || this.#busy) return
    this.#busy = true
    this.#kicked = false
    void this.#round().finally(() => {
      this.#busy = false
      if (this.#kicked) this.#pump()
      this.#stopIfIdle()
    })
  }

  async #round(): Promise<void> {
    const { world, broker } = this.#options
    try {
      const { confirmed, more } = await this.#relay()
      this.#roundFailures = 0
      if (more) this.#kicked = true
      this.#poll.wait({ found: confirmed > 0 })
    } catch (error) {
      if (this.#leaving.signal.aborted) return
      if (!isPassing(error)) {
        this.#halt(error)
        return
      }
      if (this.#roundFailures === 0) {
        world.log.warn('database away, the outbox waits; nothing is lost', {
          broker,
          error: errorText(error),
        })
      }
      this.#poll.wait({ delayMs: awayDelayMs(this.#roundFailures++, world.random()) })
    }
  }

  async #relay(): Promise<{ confirmed: number; more: boolean }> {
    const { pool, broker, batchMax = 200, world } = this.#options
    const client = await pool.connect()
    let usable = false
    try {
      await client.query(this.#begin())
      const { rows, more } = await takeOutbox(client, broker, batchMax, this.#failed.waiting())
      if (rows.length > 0) world.reach('relay.claimed')
      const confirmed = rows.length === 0 ? [] : await this.#publish(rows)
      await remove(client, confirmed)
      usable = true
      for (const id of confirmed) this.#failed.remove(id)
      this.#published += confirmed.length
      if (confirmed.length > 0) world.reach('relay.deleted')
      return { confirmed: confirmed.length, more }
    } finally {
      client.release(!usable)
    }
  }

  #begin(): string {
    const { publishTimeoutMs = 15_000 } = this.#options
    return `begin;
      set local lock_timeout = 3000;
      set local statement_timeout = 10000;
      set local idle_in_transaction_session_timeout = ${Math.floor(publishTimeoutMs) + idleMarginMs}`
  }

  /** Answers with the ids of the confirmed rows; the others are left alone for a while. */
  async #publish(rows: readonly OutboxRow[]): Promise<readonly string[]> {
    const { world } = this.#options
    const answers = await this.#answers(rows)
    this.#leaving.signal.throwIfAborted()
    world.reach('relay.published')
    const confirmed: string[] = []
    const reported = new Set<string>()
    rows.forEach(({ id, message }, index) => {
      const answer = answers[index]
      if (answer === 'confirmed') {
        confirmed.push(id)
        return
      }
      this.#failures++
      this.#failed.add(id, message.queue)
      if (reported.has(message.queue)) return
      reported.add(message.queue)
      const { queue, messageId } = message
      world.log.warn('not published, the row stays', {
        queue,
        messageId,
        outbox: id,
        error: errorText(answer),
      })
    })
    return confirmed
  }

  /** Bounded in time, because a transaction is open meanwhile. */
  #answers(rows: readonly OutboxRow[]): Promise<readonly ('confirmed' | Error)[]> {
    const { publisher, world, publishTimeoutMs = 15_000 } = this.#options
    const { promise, resolve } = Promise.withResolvers<readonly ('confirmed' | Error)[]>()
    const none = (error: Error) => resolve(rows.map(() => error))
    const left = () => none(this.#leaving.signal.reason)
    const cancel = world.timers.after(publishTimeoutMs, () => {
      none(
        new OncewardError(
          'publish_unconfirmed',
          `The broker did not answer within ${publishTimeoutMs} ms. The rows stay and are published again under the same ids.`,
        ),
      )
    })
    this.#leaving.signal.addEventListener('abort', left, { once: true })
    publisher.publish(rows.map(row => row.message)).then(resolve, none)
    return promise.finally(() => {
      cancel()
      this.#leaving.signal.removeEventListener('abort', left)
    })
  }

  #halt(error: unknown): void {
    const { world, broker } = this.#options
    world.log.error('relay halted; rows wait in the outbox', { broker, error: errorText(error) })
    this.#state = 'halted'
    this.#poll.cancel()
    this.#done.reject(error)
  }

  #stopIfIdle(): void {
    if (this.#state !== 'draining' || this.#busy) return
    this.#state = 'stopped'
    this.#poll.cancel()
    this.#done.resolve()
  }
}

async function remove(client: SqlClient, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await client.query('delete from onceward.outbox where id = any ($1::bigint[])', [ids])
  const { command } = await client.query('commit')
  if (command === 'COMMIT') return
  throw new OncewardError(
    'commit_not_confirmed',
    `COMMIT was answered with ${command}. The rows stay in the outbox and are published again under the same ids.`,
  )
}

export function createRelay(options: RelayOptions): Relay {
  return new Relay(options)
}

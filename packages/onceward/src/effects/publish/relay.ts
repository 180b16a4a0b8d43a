import { errorText, OncewardError } from '../../errors.ts'
import type { SqlClient, SqlPool } from '../../stores/postgres/pool.ts'
import type { Surroundings } from '../../surroundings.ts'
import { type Found, WorkLoop } from '../work-loop.ts'
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
  readonly #loop: WorkLoop
  #published = 0
  #failures = 0

  constructor(options: RelayOptions) {
    this.#options = options
    this.#failed = new FailedRows(options.world)
    this.#loop = new WorkLoop({
      pool: options.pool,
      world: options.world,
      look: () => this.#round(),
      idle: () => true,
      leaving: 'after the look',
      who: { broker: options.broker },
      words: {
        away: 'database away, the outbox waits; nothing is lost',
        halted: 'relay halted; rows wait in the outbox',
      },
    })
  }

  get tally(): RelayTally {
    return {
      published: this.#published,
      failures: this.#failures,
      failing: this.#failed.count,
      storeAway: this.#loop.storeAway,
    }
  }

  /** Resolves when stopped, rejects when it had to stop by itself. */
  get finished(): Promise<void> {
    return this.#loop.finished
  }

  start(): Promise<void> {
    return this.#loop.start()
  }

  /** There may be new rows: a consumer of this process has committed. Cheap, never throws. */
  kick(): void {
    this.#loop.kick()
  }

  /** Finishes the round it is in, begins no other. Past the deadline it leaves at once. */
  drain(deadlineMs?: number): Promise<void> {
    return this.#loop.drain(deadlineMs)
  }

  /** Gives the rows of an open round back: what was published of them is published again under the same ids. */
  leave(): void {
    this.#loop.leave()
  }

  async #round(): Promise<Found> {
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
      return { found: confirmed.length > 0, more }
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
    this.#loop.signal.throwIfAborted()
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
    const left = () => none(this.#loop.signal.reason)
    const cancel = world.timers.after(publishTimeoutMs, () => {
      none(
        new OncewardError(
          'publish_unconfirmed',
          `The broker did not answer within ${publishTimeoutMs} ms. The rows stay and are published again under the same ids.`,
        ),
      )
    })
    this.#loop.signal.addEventListener('abort', left, { once: true })
    publisher.publish(rows.map(row => row.message)).then(resolve, none)
    return promise.finally(() => {
      cancel()
      this.#loop.signal.removeEventListener('abort', left)
    })
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

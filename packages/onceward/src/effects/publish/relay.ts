import { adoptRows } from '../../drivers/postgres/outbox/adopt-rows.ts'
import { moveRows } from '../../drivers/postgres/outbox/move-rows.ts'
import { removeRows } from '../../drivers/postgres/outbox/remove-rows.ts'
import { type OutboxRow, takeRows } from '../../drivers/postgres/outbox/take-rows.ts'
import { messagingSystem } from '../../ports/messaging-system.ts'
import type { Publisher } from '../../ports/publisher.ts'
import type { SpanSpec } from '../../telemetry/traces.ts'
import { isTransient } from '../store-unavailable.ts'
import { type PollResult, WorkLoop } from '../work-loop.ts'
import { BrokerPause, isRefusal } from './broker-pause.ts'
import { BucketLeases } from './bucket-leases.ts'
import { OutboxWatch } from './outbox-watch.ts'
import { type PublishedRows, publishRows } from './publish-rows.ts'
import type { RelayOptions, RelayTally } from './relay-options.ts'
import { reportFailures } from './report-failures.ts'
import { RoundPlan, type RoundRequest } from './round-plan.ts'
import { WaitingLines } from './waiting-lines.ts'

/**
 * Publishes outbox rows to their broker, in up to `roundsMax` concurrent rounds:
 *
 *   front rows of free buckets ──▶ publish, keys in order ──▶ all answered ──▶ delete the confirmed
 *                                     └── refused, timed out, or crashed ──▶ the row stays, and its key waits
 *
 * The relay deletes a row only after its confirm, so delivery is at least once. The stable message id makes a
 * second copy a duplicate. A row is sent only when all earlier rows of its key are confirmed, so first copies
 * are in order even if another relay publishes the same rows.
 */
export class Relay {
  readonly #options: RelayOptions & { readonly destination: string }
  readonly #leases: BucketLeases
  readonly #plan: RoundPlan
  readonly #waiting: WaitingLines
  readonly #pause: BrokerPause
  readonly #watch: OutboxWatch
  readonly #loop: WorkLoop
  readonly #finished: Promise<void>
  /** Confirmed rows that are not deleted yet, because the database was unavailable. */
  #owed: readonly OutboxRow[] = []
  #published = 0
  #failures = 0

  constructor(options: RelayOptions) {
    const {
      pool,
      broker,
      destination = broker,
      env,
      instance = 'relay',
      leaseMs = 10_000,
      batchMax = 500,
      roundsMax = broker === 'rabbitmq' ? 4 : 2,
    } = options
    this.#options = { ...options, destination }
    this.#leases = new BucketLeases({ pool, destination, instance, leaseMs, env })
    this.#plan = new RoundPlan(batchMax, roundsMax)
    this.#waiting = new WaitingLines(env)
    this.#pause = new BrokerPause(env)
    this.#watch = new OutboxWatch(options, () => this.#waiting.count)
    this.#loop = new WorkLoop({
      pool,
      env,
      poll: () => this.#poll(),
      idle: () => this.#plan.rounds === 0,
      leaving: 'after the poll',
      logFields: { broker, destination },
      logMessages: {
        unavailable: 'database unavailable; outbox rows wait, none is lost',
        halted: 'relay halted; rows wait in the outbox',
      },
    })
    this.#finished = this.#end()
    this.#finished.catch(() => {})
  }

  get tally(): RelayTally {
    return {
      published: this.#published,
      failures: this.#failures,
      failing: this.#waiting.count,
      buckets: this.#leases.buckets.length,
      storeUnavailable: this.#loop.storeUnavailable,
      brokerAway: this.#pause.unavailable,
    }
  }

  /** Resolves when the relay has stopped, rejects when it halted on an error. */
  get finished(): Promise<void> {
    return this.#finished
  }

  start(): Promise<void> {
    return this.#loop.start()
  }

  /** Hints at new rows: a consumer of this process has committed. Cheap, never throws. */
  kick(): void {
    this.#loop.kick()
  }

  /**
   * Finishes its current rounds, starts no more and releases its buckets. Past the deadline it leaves
   * immediately.
   */
  async drain(deadlineMs?: number): Promise<void> {
    await this.#loop.drain(deadlineMs)
    await this.#finished
  }

  /** Abandons its rounds. Messages already published are published again under the same ids. */
  leave(): void {
    this.#loop.leave()
  }

  async #end(): Promise<void> {
    try {
      await this.#loop.finished
    } finally {
      this.#watch.close()
      await this.#leases.leave().catch(() => {})
    }
  }

  async #poll(): Promise<PollResult> {
    const { pool, destination } = this.#options
    if (this.#leases.due) {
      await this.#leases.refresh(this.#plan.busy)
      await adoptRows(pool, destination)
      await this.#watch.read()
    }
    if (this.#owed.length > 0) {
      await removeRows(pool, destination, this.#owed)
      this.#owed = []
    }
    const asked = this.#pause.on ? null : this.#plan.next(this.#leases.buckets)
    if (asked === null) return null
    const { publisher } = this.#options
    return publisher === 'same database' ? this.#move(asked) : this.#take(asked, publisher)
  }

  async #move(asked: RoundRequest): Promise<PollResult> {
    const { pool, destination, env } = this.#options
    const moved = await moveRows(pool, destination, asked)
    const count = moved.reduce((sum, { rows }) => sum + rows, 0)
    if (count > 0) env.reach('relay.moved')
    this.#count(count)
    return { found: count > 0, more: this.#plan.more(asked, moved) }
  }

  async #take(asked: RoundRequest, publisher: Publisher): Promise<PollResult> {
    const { pool, broker, destination, env } = this.#options
    const leftAlone = this.#waiting.leftAlone()
    const { rows, unadopted } = await takeRows(pool, { destination, broker, ...asked, leftAlone })
    if (unadopted && (await adoptRows(pool, destination))) return { found: true, more: true }
    const byBucket = Map.groupBy(rows, ({ bucket }) => bucket)
    const found = [...byBucket].map(([bucket, some]) => ({ bucket, rows: some.length }))
    if (rows.length > 0) {
      env.reach('relay.read')
      void this.#round(rows, this.#plan.begin([...byBucket.keys()]), publisher)
    }
    return { found: rows.length > 0, more: this.#plan.more(asked, found) }
  }

  async #round(rows: readonly OutboxRow[], end: () => void, publisher: Publisher): Promise<void> {
    let gone = 0
    try {
      gone = await this.#carry(rows, publisher)
    } catch (error) {
      if (!this.#loop.signal.aborted && !isTransient(error)) this.#loop.halt(error)
    }
    end()
    if (gone > 0) this.#loop.kick()
    this.#loop.stopIfIdle()
  }

  /** Returns how many rows were deleted from the outbox. */
  async #carry(rows: readonly OutboxRow[], publisher: Publisher): Promise<number> {
    const { env, publishTimeoutMs = 15_000 } = this.#options
    if (!this.#leases.live || this.#loop.signal.aborted) return 0
    const published = await env.traces.span(this.#spanOf(rows), span =>
      publishRows(publisher, rows, {
        timers: env.timers,
        timeoutMs: publishTimeoutMs,
        signal: this.#loop.signal,
        still: () => this.#leases.live,
      }).then(answers => {
        span.set({ 'onceward.confirmed': answers.confirmed.length, 'onceward.failed': answers.failed.length })
        return answers
      }),
    )
    this.#loop.signal.throwIfAborted()
    env.reach('relay.published')
    this.#pause.record(published)
    if (published.confirmed.length > 0) await this.#remove(published.confirmed)
    return this.#settle(published)
  }

  /** Covers the transport only. Messages keep the trace context in which they were created. */
  #spanOf(rows: readonly OutboxRow[]): SpanSpec {
    const { broker } = this.#options
    return {
      name: `send ${broker}`,
      kind: 'send',
      attributes: {
        'messaging.system': messagingSystem(broker),
        'messaging.operation.name': 'send',
        'messaging.operation.type': 'send',
        'messaging.batch.message_count': rows.length,
      },
      about: { count: rows.length, headersOf: index => rows[index]!.message.headers },
    }
  }

  async #remove(confirmed: readonly OutboxRow[]): Promise<void> {
    const { pool, destination, env } = this.#options
    await removeRows(pool, destination, confirmed).catch(error => {
      this.#owed = [...this.#owed, ...confirmed]
      throw error
    })
    env.reach('relay.deleted')
  }

  async #settle({ confirmed, failed }: PublishedRows): Promise<number> {
    for (const row of confirmed) this.#waiting.remove(row)
    for (const { row, error } of failed) this.#waiting.add(row, error)
    this.#count(confirmed.length)
    this.#failures += failed.length
    if (failed.some(({ error }) => isRefusal(error))) this.#options.onRefused?.()
    if (failed.length > 0) await reportFailures(this.#options, failed)
    return confirmed.length
  }

  #count(gone: number): void {
    this.#published += gone
    const { broker, env } = this.#options
    if (gone > 0) env.metrics.add('published', gone, { broker, 'messaging.system': messagingSystem(broker) })
  }
}

export function createRelay(options: RelayOptions): Relay {
  return new Relay(options)
}

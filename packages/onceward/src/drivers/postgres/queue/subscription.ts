import type { Reach } from '../../../crash-points.ts'
import type { Log } from '../../../environment.ts'
import { errorText, OncewardError } from '../../../errors.ts'
import type { Delivery, PartitionLag, QueueOpenOptions, Subscription } from '../../../ports/source.ts'
import { QueueDepth } from '../../log/queue-depth.ts'
import type { SqlPool } from '../pool.ts'
import { HintListener } from './hint-listener.ts'
import { Holdings, type QueueToken } from './holdings.ts'
import { LeaseKeeper } from './lease-keeper.ts'
import { lookAroundMs, Prefetch } from './prefetch.ts'
import { Signal } from './signal.ts'
import { configurationTrouble } from './trouble.ts'
import { UnconfirmedAcks } from './unconfirmed-acks.ts'

export interface SubscriptionOptions extends QueueOpenOptions {
  readonly name: string
  readonly queue: string
  readonly keyOrder: boolean
  readonly leaseMs: number
  readonly pool: SqlPool
  readonly ownsPool: boolean
  readonly log: Log
  readonly reach: Reach
  readonly instance: string
}

const pollMinMs = 5
const pollMaxMs = 250
const retryMinMs = 50
const retryMaxMs = 2_000
const closeTimeoutMs = 5_000

const depth =
  'select count(*)::float8 as n from (select from onceward.queue_message where queue_id = $1 limit 100000) first'

/**
 * One loop fetches ahead of the consumer; a heartbeat keeps the lease; settling runs in parallel.
 *
 *   no lease ──begin──▶ leased ──heartbeat refused──▶ no lease (held messages are forgotten: others get them)
 *   in either: server unavailable ──▶ waits, tries again      configuration error ──▶ failed: receive rejects
 *   any ──close──▶ closed, lease released
 */
export class PostgresSubscription implements Subscription {
  readonly #options: SubscriptionOptions
  readonly #holdings: Holdings
  readonly #keeper: LeaseKeeper
  readonly #prefetch: Prefetch
  readonly #acks: UnconfirmedAcks
  readonly #listener: HintListener
  readonly #depth: QueueDepth
  readonly #work = new Signal()
  readonly #arrivals = new Signal()
  #queueId = 0
  #failure: OncewardError | null = null
  #closed = false
  /** Null until the first connection attempt has ended. */
  #up: boolean | null = null
  #running: Promise<void> = Promise.resolve()
  #idleMs = pollMinMs

  private constructor(options: SubscriptionOptions) {
    this.#options = options
    this.#holdings = new Holdings(options.inFlightMax, options.inFlightBytesMax, options.queue)
    this.#prefetch = new Prefetch(options, this.#holdings)
    this.#depth = new QueueDepth({
      queue: options.queue,
      ask: () => this.#waiting(),
      held: () => 0,
      nowMs: () => performance.now(),
    })
    this.#acks = new UnconfirmedAcks(options.pool, this.#holdings, lease => lease === this.#keeper.current)
    this.#keeper = new LeaseKeeper(
      options.pool,
      options.leaseMs,
      () => this.#arrivals.wake(),
      () => this.#lost(),
    )
    this.#listener = new HintListener(
      options.pool,
      options.queue,
      () => this.#hinted(),
      reason => options.onEvent({ kind: 'warning', reason }),
    )
  }

  static async open(options: SubscriptionOptions): Promise<PostgresSubscription> {
    const subscription = new PostgresSubscription(options)
    try {
      await subscription.#begin()
    } catch (error) {
      const trouble = configurationTrouble(error, options.name)
      if (trouble !== null) {
        if (options.ownsPool) await options.pool.end().catch(() => {})
        throw trouble
      }
      subscription.#down(error)
    }
    subscription.#listener.start()
    subscription.#running = subscription.#run()
    return subscription
  }

  async receive(max: number): Promise<readonly Delivery[]> {
    for (;;) {
      if (this.#failure !== null) throw this.#failure
      if (this.#closed) return []
      if (this.#holdings.buffered > 0 && this.#keeper.live) break
      await this.#arrivals.wait()
    }
    const deliveries = this.#holdings.take(max)
    if (this.#holdings.buffered === 0) this.#work.wake()
    return deliveries
  }

  async settle(deliveries: readonly Delivery[]): Promise<{ missed: number }> {
    const lease = this.#keeper.current
    const ids: string[] = []
    for (const { token } of deliveries)
      if ((token as QueueToken).lease === lease) ids.push((token as QueueToken).id)
    const skipped = deliveries.length - ids.length
    if (lease === null || ids.length === 0) return { missed: skipped }
    try {
      const gone = await this.#acks.acknowledge(this.#queueId, lease, ids)
      this.#work.wake()
      return { missed: skipped + gone }
    } catch (error) {
      this.#down(error)
      return { missed: deliveries.length }
    }
  }

  lag(): readonly PartitionLag[] {
    return this.#depth.lag()
  }

  isLive(delivery: Delivery): boolean {
    return (delivery.token as QueueToken).lease === this.#keeper.current && this.#keeper.live
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#keeper.stop()
    this.#listener.close()
    this.#work.wake()
    this.#arrivals.wake()
    let timer: NodeJS.Timeout | undefined
    const tooLong = new Promise<void>(resolve => {
      timer = setTimeout(resolve, closeTimeoutMs)
    })
    await Promise.race([this.#leave(), tooLong])
    clearTimeout(timer)
  }

  /** Includes leased messages of all subscriptions: their rows exist until they are settled. */
  async #waiting(): Promise<number | null> {
    if (this.#closed) return null
    const { pool } = this.#options
    const counted = await pool.query(depth, [this.#queueId]).catch(() => null)
    return counted === null ? null : counted.rows[0].n
  }

  async #leave(): Promise<void> {
    const { pool, ownsPool, log, name } = this.#options
    try {
      await this.#running
      await this.#keeper.release()
      if (ownsPool) await pool.end()
    } catch (error) {
      log.warn('lease not released; its messages are redelivered when it expires', {
        source: name,
        error: errorText(error),
      })
    }
  }

  async #begin(): Promise<void> {
    const { pool, queue, name, instance } = this.#options
    const { rows } = await pool.query('select id from onceward.queue where name = $1', [queue])
    if (rows.length === 0) {
      throw new OncewardError(
        'configuration',
        `${name} does not exist in this database. No message was received and nothing is lost. Create it with createQueue, or check the name and the connection string.`,
      )
    }
    this.#queueId = rows[0].id
    await this.#keeper.take(this.#queueId, instance)
    this.#prefetch.startOver()
    this.#connected()
  }

  async #run(): Promise<void> {
    let retryMs = retryMinMs
    while (!this.#closed && this.#failure === null) {
      try {
        await this.#step()
        retryMs = retryMinMs
      } catch (error) {
        this.#failure = configurationTrouble(error, this.#options.name)
        if (this.#failure !== null) break
        this.#down(error)
        await this.#work.wait(retryMs)
        retryMs = Math.min(retryMaxMs, retryMs * 2)
      }
    }
    this.#arrivals.wake()
  }

  async #step(): Promise<void> {
    if (this.#up !== true) await this.#keeper.beat()
    if (this.#keeper.current === null) await this.#begin()
    const lease = this.#keeper.current!
    if (!(await this.#prefetch.undoUnconfirmed(lease))) return this.#keeper.lose(lease)
    this.#connected()
    await this.#acks.retry(this.#queueId, lease)
    await this.#prefetch.lookAround(this.#queueId)
    const room = this.#holdings.room
    if (room === null) return this.#work.wait(lookAroundMs)
    const fetched = await this.#prefetch.fetch(
      this.#queueId,
      lease,
      room,
      () => lease === this.#keeper.current,
    )
    if (fetched === 'none') await this.#idle()
    if (fetched !== 'some') return
    this.#idleMs = pollMinMs
    this.#arrivals.wake()
  }

  async #idle(): Promise<void> {
    const waitMs = this.#idleMs
    this.#idleMs = Math.min(pollMaxMs, waitMs * 2)
    await this.#work.wait(waitMs)
  }

  #lost(): void {
    this.#holdings.clear()
    this.#acks.clear()
    this.#prefetch.forgetUnconfirmed()
    this.#down(
      'the lease expired before it was extended: other subscriptions get its messages, a new lease is taken',
    )
    this.#work.wake()
  }

  #hinted(): void {
    this.#idleMs = pollMinMs
    this.#work.wake()
  }

  #connected(): void {
    if (this.#up === true) return
    this.#up = true
    this.#options.onEvent({ kind: 'connected' })
    this.#arrivals.wake()
  }

  #down(error: unknown): void {
    if (this.#up === false) return
    this.#up = false
    this.#options.onEvent({ kind: 'disconnected', reason: errorText(error, 500) })
    this.#work.wake()
  }
}

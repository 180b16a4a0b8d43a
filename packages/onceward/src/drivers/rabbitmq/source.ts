import { setTimeout } from 'node:timers/promises'
import { type Log, silent } from '../../environment.ts'
import { errorText, OncewardError } from '../../errors.ts'
import type {
  Delivery,
  PartitionLag,
  QueueOpenOptions,
  QueueSource,
  Stall,
  Subscription,
} from '../../ports/source.ts'
import { QueueDepth } from '../log/queue-depth.ts'
import { withTls } from '../tls/tls-url.ts'
import { assertUrl } from './address.ts'
import { reconnectDelayMs, refusal, within } from './connection.ts'
import { assertSafe, type QueueDeclaration } from './declaration.ts'
import { InFlight } from './in-flight.ts'
import { Session, type SessionEnd } from './session.ts'
import { type RabbitToken, toDelivery } from './to-delivery.ts'

/** Where and how a source connects to RabbitMQ. */
export interface RabbitSourceOptions {
  /** Used when the declaration names no address. */
  readonly url?: string
  /** Default silent. */
  readonly log?: Log
  /** Aborts an `open` that is still trying to reach the broker. */
  readonly signal?: AbortSignal
}

/** A RabbitMQ queue as a source. It connects in `open`. */
export function createRabbitSource(
  declaration: QueueDeclaration,
  options: RabbitSourceOptions = {},
): QueueSource {
  const name = `rabbitmq queue ${declaration.queue}`
  return {
    name,
    capabilities: {
      order: { key: declaration.singleActiveConsumer === true, partition: false },
      positions: false,
      deliveryCount: (declaration.type ?? 'quorum') === 'quorum',
      redelivers: true,
    },
    open: async openOptions => {
      const url = withTls(assertUrl(declaration.url ?? options.url, name), declaration.tls)
      assertSafe(declaration)
      assertRoom(declaration, openOptions)
      const subscription = new RabbitSubscription(declaration, url, openOptions, options.log ?? silent)
      const giveUp = () => void subscription.close()
      options.signal?.addEventListener('abort', giveUp, { once: true })
      if (options.signal?.aborted) giveUp()
      await subscription.start().finally(() => options.signal?.removeEventListener('abort', giveUp))
      return subscription
    },
  }
}

function assertRoom({ queue, deadLetterIngest }: QueueDeclaration, { inFlightMax }: QueueOpenOptions): void {
  if (deadLetterIngest === undefined || inFlightMax > 1) return
  throw new OncewardError(
    'configuration',
    `Queue ${queue} has a deadLetterIngest, which needs one delivery in flight for itself, but batch.deliveriesMax allows only one. Nothing was opened. Allow at least two.`,
  )
}

/** After a session this long, the next failure starts with a short delay again. */
const steadyMs = 5_000
const closeTimeoutMs = 5_000

type Ended = SessionEnd | { readonly kind: 'refused'; readonly error: OncewardError }

/**
 * Keeps one session open after another, each with its own epoch, until it is closed or refused.
 *
 *   connecting ──▶ open ──lost or cancelled──▶ waiting ──delay──▶ connecting …
 *       └── refused: `start` rejects the first time, `receive` from then on
 *
 * A new epoch discards buffered and held deliveries: the broker has all of them and redelivers them.
 */
class RabbitSubscription implements Subscription {
  readonly #declaration: QueueDeclaration
  readonly #url: string
  readonly #options: QueueOpenOptions
  readonly #log: Log
  readonly #inFlight: InFlight
  readonly #depth: QueueDepth
  readonly #opened = Promise.withResolvers<void>()
  readonly #closed = new AbortController()
  readonly #warned = new Set<string>()
  #run: Promise<void> = Promise.resolve()
  #session: Session | null = null
  #epoch = 0
  #openings = 0
  #buffer: Delivery[] = []
  #waiting: { max: number; resolvers: PromiseWithResolvers<readonly Delivery[]> } | null = null
  #gathering = false
  #refused: OncewardError | null = null

  constructor(declaration: QueueDeclaration, url: string, options: QueueOpenOptions, log: Log) {
    this.#declaration = declaration
    this.#url = url
    this.#options = options
    this.#log = log
    const forIngest = declaration.deadLetterIngest === undefined ? 0 : 1
    this.#depth = new QueueDepth({
      queue: declaration.queue,
      ask: async () => (await this.#session?.ready()) ?? null,
      held: () => this.#inFlight.count,
      forOthers: declaration.singleActiveConsumer === true,
      nowMs: () => performance.now(),
    })
    this.#inFlight = new InFlight(options.inFlightMax - forIngest, options.inFlightBytesMax)
  }

  start(): Promise<void> {
    this.#run = this.#keepOpen()
    return this.#opened.promise
  }

  async receive(max: number): Promise<readonly Delivery[]> {
    if (this.#refused !== null) throw this.#refused
    if (this.#closed.signal.aborted) return []
    if (this.#buffer.length > 0) return this.#take(max)
    const resolvers = Promise.withResolvers<readonly Delivery[]>()
    this.#waiting = { max, resolvers }
    return resolvers.promise
  }

  async settle(deliveries: readonly Delivery[]): Promise<{ readonly missed: number }> {
    const session = this.#session
    const tags: number[] = []
    let missed = 0
    for (const delivery of deliveries) {
      const { tag, deadLetter } = delivery.token as RabbitToken
      if (!this.isLive(delivery)) missed++
      else if (deadLetter) {
        this.#inFlight.addBeside(-delivery.body.length)
        missed += session!.ackDeadLetter(tag)
      } else {
        tags.push(tag)
        this.#inFlight.settled(delivery.body.length)
      }
    }
    return { missed: tags.length === 0 ? missed : missed + session!.ack(tags) }
  }

  lag(): readonly PartitionLag[] {
    return this.#depth.lag()
  }

  /** Without a connection the source is disconnected, not stalled. */
  stalled(): Stall | null {
    return this.#session?.live ? this.#depth.stalled() : null
  }

  isLive(delivery: Delivery): boolean {
    return (delivery.token as RabbitToken).epoch === this.#epoch && this.#session?.live === true
  }

  async close(): Promise<void> {
    this.#closed.abort()
    this.#waiting?.resolvers.resolve([])
    this.#waiting = null
    const ends = Promise.all([this.#session?.close(closeTimeoutMs), this.#run])
    await within(closeTimeoutMs + 1_000, ends)
  }

  async #keepOpen(): Promise<void> {
    for (let failures = 0; !this.#closed.signal.aborted; ) {
      const began = performance.now()
      const end = await this.#oneSession()
      if (this.#closed.signal.aborted) break
      if (end.kind === 'refused') return this.#refuse(end.error)
      this.#options.onEvent(end)
      failures = performance.now() - began >= steadyMs ? 0 : failures + 1
      await this.#delay(reconnectDelayMs(failures))
    }
    const unreached = `${this.#declaration.queue}: closed before RabbitMQ was reachable. Nothing was consumed.`
    this.#opened.reject(new OncewardError('broker_unreachable', unreached))
  }

  async #oneSession(): Promise<Ended> {
    this.#epoch++
    const session = this.#createSession(this.#epoch)
    this.#session = session
    try {
      await session.start()
      this.#openings++
      this.#options.onEvent({ kind: 'connected' })
      this.#opened.resolve()
      return await session.ended
    } catch (error) {
      return this.#afterFailure(error)
    } finally {
      this.#session = null
      this.#depth.moved()
      this.#buffer = []
      this.#inFlight.clear()
    }
  }

  #createSession(epoch: number): Session {
    const { queue, deadLetterIngest } = this.#declaration
    const arrived = (delivery: Delivery) => {
      this.#depth.moved()
      this.#buffer.push(delivery)
      this.#gather()
    }
    return new Session({
      url: this.#url,
      declaration: this.#declaration,
      inFlight: this.#inFlight,
      log: this.#log,
      onMessage: message => arrived(toDelivery(message, queue, { epoch, deadLetter: false })),
      onDeadLetter: (message, routingKey) =>
        arrived(toDelivery(message, deadLetterIngest!, { epoch, deadLetter: true }, queue, routingKey)),
      onBroker: async broker => this.#options.onBroker?.(broker),
      onIngestTrouble: reason => {
        const part = `reading dead-letter queue ${deadLetterIngest}`
        this.#options.onEvent(
          reason === null ? { kind: 'restored', part } : { kind: 'degraded', part, reason },
        )
      },
      onWarning: reason => {
        if (this.#warned.has(reason)) return
        this.#warned.add(reason)
        this.#options.onEvent({ kind: 'warning', reason })
      },
    })
  }

  /**
   * A queue or virtual host that existed before may return; at the first start its absence is a mistake in
   * the URL.
   */
  #afterFailure(error: unknown): Ended {
    const refused = refusal(error, `rabbitmq queue ${this.#declaration.queue}`)
    const mayComeBack = this.#openings > 0 && refused?.details.missing === true
    if (refused === null || mayComeBack) return { kind: 'disconnected', reason: errorText(error) }
    return { kind: 'refused', error: refused }
  }

  #refuse(error: OncewardError): void {
    this.#refused = error
    this.#opened.reject(error)
    this.#waiting?.resolvers.reject(error)
    this.#waiting = null
  }

  /** Waits one turn of the event loop, so that all deliveries of the same socket read join. */
  #gather(): void {
    if (this.#waiting === null || this.#gathering) return
    this.#gathering = true
    setImmediate(() => {
      this.#gathering = false
      if (this.#waiting === null || this.#buffer.length === 0) return
      const { max, resolvers } = this.#waiting
      this.#waiting = null
      resolvers.resolve(this.#take(max))
    })
  }

  #take(max: number): Delivery[] {
    return this.#buffer.splice(0, max)
  }

  async #delay(delayMs: number): Promise<void> {
    await setTimeout(delayMs, undefined, { signal: this.#closed.signal }).catch(() => {})
  }
}

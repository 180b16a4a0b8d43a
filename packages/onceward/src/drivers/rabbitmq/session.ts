import type { Channel, ConsumeMessage, GetMessage, Message } from 'amqplib'
import type { Log } from '../../environment.ts'
import { errorText } from '../../errors.ts'
import type { BrokerIdentity } from '../../ports/source.ts'
import { type Ack, AckTracker } from './ack-tracker.ts'
import { checkIngest } from './check-ingest.ts'
import { type Connection, openConnection, withChannel, within } from './connection.ts'
import { DeadLetterIngest } from './dead-letter-ingest.ts'
import type { QueueDeclaration } from './declaration.ts'
import { identityOf } from './identity.ts'
import type { InFlight } from './in-flight.ts'
import { cancelledBy, overdueClose, type QueueAnswer } from './overdue.ts'
import { prepareQueue } from './topology.ts'

export interface SessionOptions {
  readonly url: string
  readonly declaration: QueueDeclaration
  readonly inFlight: InFlight
  readonly log: Log
  readonly onMessage: (message: ConsumeMessage) => void
  readonly onDeadLetter: (message: GetMessage, routingKey: string) => void
  readonly onWarning: (reason: string) => void
  /** State of reading the dead-letter queue: the error, or null when it works again. */
  readonly onIngestTrouble: (reason: string | null) => void
  readonly onBroker: (broker: BrokerIdentity) => Promise<void>
}

export interface SessionEnd {
  readonly kind: 'disconnected' | 'cancelled' | 'timed_out'
  readonly reason: string
}

const ackLandingMs = 200
const probeTimeoutMs = 3_000
/** Between two questions whether a queue still exists. */
const deletionMs = 700

/**
 * One connection, one channel, one epoch. To change its prefetch, a consumer is opened again on the same
 * channel. An ingested dead-letter queue has a second channel, and the session ends with either.
 *
 *   new ──start──▶ consuming ──cancel──▶ pausing ──cancel-ok──▶ paused ──room again──▶ resuming ──▶ consuming
 *   any ──connection or channel lost, consumer cancelled by the broker, close──▶ ended
 *
 * Deliveries of a cancelled consumer stay unsettled on the channel, so a pause returns nothing. Once ended,
 * every unsettled delivery belongs to the broker again and no further acknowledgement is sent.
 *
 * A single-active-consumer queue always keeps one prefetch. A cancel would activate another process while
 * this one still holds earlier messages of a key (4.0.5: three held, the next seven went to the other). And a
 * quorum queue puts returned messages behind those returned earlier. A smaller prefetch after a larger one
 * therefore breaks the order (4 held, then 2 held, then all: 2 3 0 1 4 …). With the same prefetch the order
 * was kept.
 */
export class Session {
  readonly #options: SessionOptions
  readonly #acks = new AckTracker()
  readonly #ended = Promise.withResolvers<SessionEnd>()
  readonly #starting = new AbortController()
  #lastAckMs = Number.NEGATIVE_INFINITY
  #state: 'new' | 'consuming' | 'pausing' | 'paused' | 'resuming' | 'ended' = 'new'
  #connection: Connection | null = null
  #channel: Channel | null = null
  #ingest: DeadLetterIngest | null = null
  #consumerTag = ''
  #prefetch = 0
  #arrivals = 0

  constructor(options: SessionOptions) {
    this.#options = options
  }

  /** Resolves once, when no further message can arrive or be settled. */
  get ended(): Promise<SessionEnd> {
    return this.#ended.promise
  }

  get live(): boolean {
    return this.#channel !== null && this.#state !== 'ended'
  }

  /**
   * Connects, prepares the queue and consumes. Rejects when any of it fails; the connection is then closed.
   */
  async start(): Promise<void> {
    const { url, declaration, onWarning, onBroker } = this.#options
    try {
      const connection = await openConnection(url, `consumes ${declaration.queue}`, this.#starting.signal)
      this.#connection = connection
      void connection.ended.then(reason => this.#end({ kind: 'disconnected', reason }))
      if (connection.cluster !== null) await onBroker(identityOf(connection, url))
      await this.#failIfEnded()
      for (const warning of await prepareQueue(connection, declaration, url)) onWarning(warning)
      this.#channel = await this.#openChannel(connection)
      this.#ingest = await this.#openIngest(connection)
      await this.#consume()
      void this.#ingest?.run()
      await this.#failIfEnded()
    } catch (error) {
      this.#end({ kind: 'disconnected', reason: errorText(error) })
      void this.#connection?.close(2_000)
      throw error
    }
  }

  /**
   * Number of ready messages in the queue; null when the broker does not answer. Uses a separate channel,
   * because a refusal closes the channel.
   */
  async ready(): Promise<number | null> {
    if (!this.live) return null
    const { queue } = this.#options.declaration
    const asked = withChannel(
      this.#connection!,
      async channel => (await channel.checkQueue(queue)).messageCount,
    )
    return asked.catch(() => null)
  }

  /** Sends the acknowledgements for these tags. Returns the number that could not be sent. */
  ack(tags: readonly number[]): number {
    if (!this.live) return tags.length
    const acks = this.#acks.settle(tags)
    this.#lastAckMs = performance.now()
    try {
      for (const ack of acks) this.#send(ack)
    } catch {
      // The channel closed meanwhile: how many acks were sent is unknown, and all of these may be
      // redelivered.
      return tags.length
    }
    this.#adjust()
    return 0
  }

  /** The same for the one message of the dead-letter queue. */
  ackDeadLetter(tag: number): number {
    if (!this.live || this.#ingest === null) return 1
    this.#lastAckMs = performance.now()
    try {
      this.#ingest.ack(tag)
    } catch {
      return 1
    }
    this.#adjust()
    return 0
  }

  /** Closing the channel flushes earlier acks and returns the rest; then the connection is closed. */
  async close(timeoutMs: number): Promise<void> {
    const channel = this.#channel
    const polite = this.live && channel !== null && this.#state !== 'new'
    this.#state = 'ended'
    this.#ended.resolve({ kind: 'disconnected', reason: 'closed by this process' })
    this.#ingest?.stop()
    if (!polite) return this.#cut()
    await this.#letAcksLand(channel)
    const answered = await within(timeoutMs, Promise.allSettled([channel.close(), this.#ingest?.close()]))
    if (answered) await this.#connection?.close(timeoutMs)
    else this.#connection?.destroy()
  }

  /** For a start in progress or an ended session: there is nothing to return and no peer to wait for. */
  #cut(): void {
    this.#starting.abort()
    this.#connection?.destroy()
  }

  /**
   * A quorum queue processes acks a few at a time. When the channel closes, its client discards pending acks
   * and the broker redelivers the messages (12 to 594 seen, none after this wait). Duplicates are recognised,
   * but they cost work. A single active consumer is not cancelled meanwhile: the next one would overtake the
   * messages that this one returns.
   */
  async #letAcksLand(channel: Channel): Promise<void> {
    const sinceMs = performance.now() - this.#lastAckMs
    if (sinceMs >= ackLandingMs) return
    if (!this.#options.declaration.singleActiveConsumer) {
      await within(
        ackLandingMs,
        Promise.resolve()
          .then(() => channel.cancel(this.#consumerTag))
          .catch(() => {}),
      )
    }
    await new Promise(resolve => setTimeout(resolve, ackLandingMs - sinceMs))
  }

  async #failIfEnded(): Promise<void> {
    if (this.#state === 'ended') throw new Error((await this.#ended.promise).reason)
  }

  async #openChannel(connection: Connection): Promise<Channel> {
    const channel = await connection.model.createChannel()
    let refused: string | null = null
    channel.on('error', error => {
      refused = error.message
    })
    channel.on('close', () => {
      const reason = refused ?? connection.trouble ?? 'the channel was closed'
      this.#end(overdueClose(reason, this.#options.declaration.queue) ?? { kind: 'disconnected', reason })
    })
    return channel
  }

  async #openIngest(connection: Connection): Promise<DeadLetterIngest | null> {
    const { declaration, onWarning } = this.#options
    if (declaration.deadLetterIngest === undefined) return null
    const { warnings, deliveriesMax } = await checkIngest(connection, declaration, this.#options.url)
    for (const warning of warnings) onWarning(warning)
    const channel = await this.#openChannel(connection)
    return new DeadLetterIngest({
      ...this.#options,
      channel,
      deliveriesMax,
      onTrouble: this.#options.onIngestTrouble,
    })
  }

  async #consume(): Promise<void> {
    const { declaration, inFlight, log } = this.#options
    this.#prefetch = declaration.singleActiveConsumer ? inFlight.constant : inFlight.room
    this.#arrivals = 0
    await this.#channel!.prefetch(this.#prefetch)
    const { consumerTag } = await this.#channel!.consume(declaration.queue, message =>
      this.#onMessage(message),
    )
    this.#consumerTag = consumerTag
    log.debug('consuming', { queue: declaration.queue, prefetch: this.#prefetch, held: inFlight.count })
    if (this.#state !== 'ended') this.#state = 'consuming'
    this.#adjust()
  }

  #onMessage(message: ConsumeMessage | null): void {
    if (this.#state === 'ended') return
    if (message === null) {
      void this.#cancelled()
      return
    }
    this.#arrivals++
    this.#acks.arrived(message.fields.deliveryTag)
    this.#options.inFlight.arrived(message.content.length)
    this.#options.onMessage(message)
    this.#adjust()
  }

  #send({ tag, upTo }: Ack): void {
    this.#channel!.ack({ fields: { deliveryTag: tag } } as Message, upTo)
  }

  #adjust(): void {
    const { declaration, inFlight } = this.#options
    if (this.#state === 'paused') {
      if (inFlight.mayResume) this.#resume()
    } else if (this.#state === 'consuming') {
      if (declaration.singleActiveConsumer) this.#warnIfOverBudget()
      else if (inFlight.mustPause(this.#prefetch) || inFlight.mayRaise(this.#prefetch, this.#arrivals))
        this.#pause()
    }
  }

  #pause(): void {
    this.#state = 'pausing'
    this.#follow(this.#channel!.cancel(this.#consumerTag), () => {
      this.#state = 'paused'
      this.#adjust()
    })
  }

  #resume(): void {
    this.#state = 'resuming'
    this.#follow(this.#consume(), () => {})
  }

  #follow(work: Promise<unknown>, next: () => void): void {
    work.then(
      () => {
        if (this.#state !== 'ended') next()
      },
      error => this.#end({ kind: 'disconnected', reason: errorText(error) }),
    )
  }

  #warnIfOverBudget(): void {
    const { declaration, inFlight, onWarning } = this.#options
    if (!inFlight.isOver) return
    onWarning(
      `Queue ${declaration.queue}: ${this.#prefetch} deliveries of a single active consumer hold more bytes than batch.bytesMax allows. Lowering their number while running would break the order. Lower batch.deliveriesMax in all processes at the same time.`,
    )
  }

  /**
   * Nothing is acknowledged from here on. Whether the queue still exists shows why the broker cancelled the
   * consumer.
   */
  async #cancelled(): Promise<void> {
    const { queue } = this.#options.declaration
    const { brokerVersion } = this.#connection!
    const isHolding = this.#options.inFlight.count > 0
    this.#state = 'ended'
    this.#ingest?.stop()
    let queueIs: QueueAnswer = 'unknown'
    await within(
      probeTimeoutMs,
      this.#askForQueue().then(answer => {
        queueIs = answer
      }),
    )
    this.#ended.resolve(cancelledBy({ queue, brokerVersion, isHolding, queueIs }))
    void this.#connection?.close(2_000)
  }

  /**
   * RabbitMQ cancels the consumers of a deleted queue before it removes the queue, so a queue that answers is
   * asked once more. There may be no answer: RabbitMQ 4.3 may still deliver to a consumer that it cancelled
   * for a time-out, and the client library then closes the connection.
   */
  async #askForQueue(): Promise<QueueAnswer> {
    const { queue } = this.#options.declaration
    const ask = () =>
      withChannel(this.#connection!, channel => channel.checkQueue(queue)).then(
        () => 'there' as const,
        (error: { readonly code?: unknown }) => (error.code === 404 ? 'missing' : 'unknown'),
      )
    const first = await ask()
    if (first !== 'there') return first
    await new Promise(resolve => setTimeout(resolve, deletionMs))
    return (await ask()) === 'missing' ? 'missing' : 'there'
  }

  #end(end: SessionEnd): void {
    if (this.#state === 'ended') return
    this.#state = 'ended'
    this.#ingest?.stop()
    this.#ended.resolve(end)
    void this.#connection?.close(2_000)
  }
}

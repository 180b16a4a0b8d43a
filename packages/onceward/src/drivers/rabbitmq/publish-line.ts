import type { ConfirmChannel, Message, Options } from 'amqplib'
import { errorText, OncewardError } from '../../errors.ts'
import { bareCopy } from '../../message/bare-map.ts'
import type { BrokerIdentity, DeliveryProperties } from '../../ports/source.ts'
import { type Connection, openConnection, within } from './connection.ts'
import { identityOf } from './identity.ts'
import { plainTable } from './plain-table.ts'
import { type ShortProperties, shortProperties } from './short-properties.ts'

/** A queue by name, or an exchange with a routing key. */
export type OutgoingTarget =
  | { readonly queue: string }
  | { readonly exchange: string; readonly routingKey: string }

/** One message for RabbitMQ. */
export type RabbitOutgoingMessage = OutgoingTarget & {
  readonly messageId: string
  readonly body: Buffer
  readonly headers?: Readonly<Record<string, unknown>>
  readonly properties?: DeliveryProperties
}

export type OnBroker = (broker: BrokerIdentity) => Promise<void>

/** `confirmed`, or the error of this message. */
export type PublishResult = 'confirmed' | OncewardError

/** One connection with one confirm channel, from opening to its end. */
export interface PublishLine {
  readonly ended: Promise<string>
  /** The socket's buffer is full. */
  readonly full: boolean
  /** Resolves when the socket has room, or the line has ended. */
  room(): Promise<void>
  /** Resolves with the broker's answer; as unconfirmed when the line ends first. Never rejects. */
  send(message: RabbitOutgoingMessage): Promise<PublishResult>
  /** Ends it now; everything unanswered resolves. */
  cut(reason: string): void
  close(): Promise<void>
}

/**
 * `onBroker` is called before any publish. If it rejects, the line is not opened. `signal` aborts the
 * opening.
 */
export async function openPublishLine(
  url: string,
  onBroker?: OnBroker,
  signal?: AbortSignal,
): Promise<PublishLine> {
  const connection = await openConnection(url, 'publishes', signal)
  const cut = () => connection.destroy()
  signal?.addEventListener('abort', cut)
  try {
    await onBroker?.(identityOf(connection, url))
    return new ConfirmLine(connection, await connection.model.createConfirmChannel())
  } catch (error) {
    connection.destroy()
    throw error
  } finally {
    signal?.removeEventListener('abort', cut)
  }
}

interface Unanswered {
  readonly answer: Promise<PublishResult>
  /**
   * Set by basic.return, which arrives before the confirm of the same message: an unroutable publish is also
   * confirmed.
   */
  returned: string | null
}

class ConfirmLine implements PublishLine {
  readonly #connection: Connection
  readonly #channel: ConfirmChannel
  readonly #unanswered = new Map<string, Unanswered>()
  readonly #ended = Promise.withResolvers<string>()
  #reason: string | null = null
  #full: PromiseWithResolvers<void> | null = null

  constructor(connection: Connection, channel: ConfirmChannel) {
    this.#connection = connection
    this.#channel = channel
    channel.on('error', error => {
      this.#reason ??= error.message
    })
    channel.on('return', message => this.#onReturn(message))
    channel.on('drain', () => this.#onRoom())
    channel.on('close', () => this.#onClose())
  }

  get ended(): Promise<string> {
    return this.#ended.promise
  }

  get full(): boolean {
    return this.#full !== null
  }

  room(): Promise<void> {
    return this.#full === null ? Promise.resolve() : this.#full.promise
  }

  /**
   * A return identifies its message only by id, exchange and routing key, so a second publish of the same
   * three waits for the first. A private header would distinguish them without waiting, but every reader
   * would see it.
   */
  async send(message: RabbitOutgoingMessage): Promise<PublishResult> {
    const short = shortProperties(message.messageId, message.properties)
    const key = keyOf(targetOf(message), short.messageId)
    for (let same = this.#unanswered.get(key); same !== undefined; same = this.#unanswered.get(key))
      await same.answer
    const { promise, resolve } = Promise.withResolvers<PublishResult>()
    const unanswered: Unanswered = { answer: promise, returned: null }
    this.#unanswered.set(key, unanswered)
    this.#publish(message, short, error => {
      this.#unanswered.delete(key)
      resolve(this.#result(message, unanswered.returned, error))
    })
    return promise
  }

  cut(reason: string): void {
    this.#reason ??= reason
    this.#connection.destroy()
  }

  async close(): Promise<void> {
    if (await within(2_000, this.#channel.close())) await this.#connection.close(2_000)
    else this.#connection.destroy()
  }

  #publish(message: RabbitOutgoingMessage, short: ShortProperties, onAnswer: (error: unknown) => void): void {
    const { exchange, routingKey } = targetOf(message)
    try {
      if (
        !this.#channel.publish(
          exchange,
          routingKey,
          message.body,
          toOptions(message.headers, short),
          onAnswer,
        )
      ) {
        this.#full ??= Promise.withResolvers()
      }
    } catch (error) {
      onAnswer(error)
    }
  }

  #result(message: RabbitOutgoingMessage, returned: string | null, error: unknown): PublishResult {
    const { exchange, routingKey } = targetOf(message)
    const where =
      exchange === '' ? `queue ${routingKey}` : `exchange ${exchange} with routing key ${routingKey}`
    const details = { messageId: message.messageId, exchange, routingKey }
    const noExchange = error !== null && this.#reason?.includes(`no exchange '${exchange}'`) === true
    if (returned !== null || noExchange) {
      return new OncewardError(
        'publish_unroutable',
        `Message ${message.messageId} reached no queue: ${where} has no route (${returned ?? this.#reason}). The broker kept no copy. Declare the queue or its binding, then publish again.`,
        { details },
      )
    }
    if (error === null || error === undefined) return 'confirmed'
    const refused = isUnwritable(error) ? errorText(error) : this.#tooLarge(message)
    if (refused !== null) {
      return new OncewardError(
        'publish_refused',
        `RabbitMQ refused message ${message.messageId} to ${where}: ${refused}. The broker kept no copy. Make it smaller or raise the limit, then publish again.`,
        { details },
      )
    }
    const why = this.#reason ?? this.#connection.trouble ?? errorText(error)
    return new OncewardError(
      'publish_unconfirmed',
      `RabbitMQ did not confirm message ${message.messageId} to ${where}: ${why}. It may or may not be stored. Publish it again under the same id.`,
      { cause: error, details },
    )
  }

  /** The broker reports only the size of the message for which it closed the channel. */
  #tooLarge({ body }: RabbitOutgoingMessage): string | null {
    return this.#reason?.includes(`message size ${body.length} is larger`) === true ? this.#reason : null
  }

  #onReturn({ fields, properties }: Message): void {
    const returned = this.#unanswered.get(keyOf(fields, String(properties.messageId)))
    if (returned) returned.returned = (fields as { replyText?: string }).replyText ?? 'NO_ROUTE'
  }

  #onRoom(): void {
    this.#full?.resolve()
    this.#full = null
  }

  #onClose(): void {
    this.#onRoom()
    this.#ended.resolve(this.#reason ?? 'closed')
    void this.#connection.close(2_000)
  }
}

/** Thrown while encoding: nothing was sent, and every attempt would fail the same way. */
function isUnwritable(error: unknown): boolean {
  return error instanceof RangeError || error instanceof TypeError || error instanceof SyntaxError
}

function targetOf(message: RabbitOutgoingMessage): { exchange: string; routingKey: string } {
  return 'queue' in message ? { exchange: '', routingKey: message.queue } : message
}

function keyOf(
  { exchange, routingKey }: { exchange: string; routingKey: string },
  messageId: string,
): string {
  return `${exchange.length},${routingKey.length},${exchange}${routingKey}${messageId}`
}

function toOptions(
  headers: RabbitOutgoingMessage['headers'],
  { messageId, properties, headers: unfit }: ShortProperties,
): Options.Publish {
  const { timestampMs, ...named } = properties
  const options: Options.Publish = { ...named, messageId, persistent: true, mandatory: true }
  if (headers !== undefined || Object.keys(unfit).length > 0)
    options.headers = plainTable(bareCopy(headers ?? {}, unfit))
  if (timestampMs !== undefined) options.timestamp = Math.floor(timestampMs / 1_000)
  return options
}

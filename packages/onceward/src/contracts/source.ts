import type { SourceCapabilities } from './capabilities.ts'

/** One handing-over of bytes by a broker. The bytes are exactly what the broker stored. */
export interface Delivery {
  readonly body: Buffer
  readonly headers: Readonly<Record<string, unknown>>
  readonly properties: DeliveryProperties
  /** Name of the queue, stream or topic it came from; for evidence, never an identity. */
  readonly origin: string
  /** Lasting coordinates on logs (`topic/3@1207`); null on queues, whose tags mean nothing tomorrow. */
  readonly position: string | null
  /** The broker's ordering unit; '' where there is only one. */
  readonly partition: string
  /** The broker's own key: routing key or record key. */
  readonly key: string | null
  readonly redelivered: boolean
  /** Earlier hand-overs the broker knows of; 0 on the first one and where it does not count. */
  readonly deliveryCount: number
  /** The source's private handle (tag, lease, offset with its epoch). Nobody else reads it. */
  readonly token: unknown
}

/** Facts a broker carries beside the headers, under one set of names. */
export interface DeliveryProperties {
  readonly messageId?: string
  readonly correlationId?: string
  readonly type?: string
  readonly contentType?: string
  readonly contentEncoding?: string
  readonly appId?: string
  readonly timestampMs?: number
}

/** A broker adapter: hands over deliveries, settles them. */
export interface Source {
  /** For people: `rabbitmq queue payments.q`. */
  readonly name: string
  readonly capabilities: SourceCapabilities

  /**
   * Called once by a consumer's start. Connects, checks the topology and begins to take deliveries.
   * Rejects with a `configuration` error when retrying cannot help (bad credentials, wrong queue
   * arguments); otherwise keeps trying by itself until it is closed.
   */
  open(options: OpenOptions): Promise<Subscription>
}

export interface OpenOptions {
  /** Most unsettled deliveries, and most bytes of their bodies, this subscription may hold. */
  readonly inFlightMax: number
  readonly inFlightBytesMax: number
  /** Called on every change worth telling people, in order, never throwing. */
  readonly onEvent: (event: SourceEvent) => void
}

export type SourceEvent =
  | { readonly kind: 'connected' }
  | { readonly kind: 'disconnected'; readonly reason: string }
  /** The broker took the subscription away (queue deleted, consumer cancelled). */
  | { readonly kind: 'cancelled'; readonly reason: string }
  | { readonly kind: 'warning'; readonly reason: string }

export interface Subscription {
  /**
   * Called by the consumer whenever it has room, one call at a time. Resolves at once with what has
   * already arrived (at most `max`), otherwise with the first arrivals; never waits to fill a batch.
   * Resolves with an empty list only after `close` has begun. While the broker is away it just waits.
   * Rejects only with a `configuration` error: the consumer halts and settles nothing.
   */
  receive(max: number): Promise<readonly Delivery[]>

  /**
   * Called once per delivery, after its outcome is durable, in any order. Tells the broker to forget
   * them. A delivery of an earlier connection or an expired lease is skipped, never sent: it comes
   * back and the inbox recognises it. Says how many could not be told to the broker. Never rejects.
   */
  settle(deliveries: readonly Delivery[]): Promise<{ readonly missed: number }>

  /** Called before held work is tried again: false once the broker has taken the delivery back. */
  isLive(delivery: Delivery): boolean

  /**
   * Called once, after the last settle. Hands every unsettled delivery back to the broker now rather
   * than after a time-out, and disconnects. Never rejects; resolves within a bounded time.
   */
  close(): Promise<void>
}

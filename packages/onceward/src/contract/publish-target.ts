/**
 * Where `effects.publish(name, …)` sends messages. `cdc`: a connector reads the row from the outbox table,
 * and the row is removed later.
 */
export type PublishTarget = PublishPlace & {
  /**
   * Default false. True: the transaction records that the message was published, and the record outlives the
   * outbox row. See `docs/explain.md`.
   */
  readonly evidence?: boolean
  /**
   * The broker, as `onceward status` names it, such as `rabbitmq:eu-1/orders`. A relay connected to that
   * broker publishes the message. Default: the broker whose address the process has; for a producer, the only
   * one registered in the database.
   */
  readonly destination?: string
  /**
   * Makes the bytes of each body, such as `avroEncoder(…)` of `onceward/schema` or `cloudEventsEncoder(…)`.
   * Default: bytes unchanged, any other value as JSON.
   */
  readonly encoder?: MessageEncoder
}

/** Makes the bytes of published messages. It may wait, for a registry; the transaction waits with it. */
export interface MessageEncoder {
  readonly name: string
  /** Throws on a body that it cannot write: the message that publishes it fails. */
  encode(body: unknown, place: EncodePlace): EncodedMessage | Promise<EncodedMessage>
}

/** Where an encoded message goes. */
export interface EncodePlace {
  readonly broker: PublishPlace['broker']
  /** The topic or queue; the routing key of an exchange. */
  readonly topic: string
  /** The message id. */
  readonly id: string
  readonly type: string | undefined
  readonly key: string | null
}

export interface EncodedMessage {
  readonly body: Uint8Array
  readonly contentType?: string
  /** Added to the headers of the request, which win. */
  readonly headers?: Readonly<Record<string, unknown>>
}

export type PublishPlace =
  | {
      readonly broker: 'kafka'
      readonly topic: string
      /**
       * The largest message, in bytes. Default: the topic's `max.message.bytes` if the process can ask its
       * cluster, else Kafka's default of 1,048,588. A larger message is refused before anything is written.
       */
      readonly bytesMax?: number
    }
  | { readonly broker: 'cdc'; readonly topic: string }
  | { readonly broker: 'postgres'; readonly queue: string }
  | { readonly broker: 'rabbitmq'; readonly queue: string }
  | { readonly broker: 'rabbitmq'; readonly exchange: string; readonly routingKey: string }

/** One message, as a handler or a producer publishes it. */
export interface PublishRequest {
  /** Bytes are published unchanged; any other value is published as JSON. */
  body: unknown
  /**
   * Messages of one key reach a target in the order in which their transactions locked the rows behind the
   * key. Default none: no order.
   */
  key?: string | null
  /**
   * The message id. Default: derived from consumer, message id, target and the number of this call, so that
   * every repeat produces the same id.
   */
  id?: string
  type?: string
  contentType?: string
  /** Default: the correlation id of the message being handled. */
  correlationId?: string
  headers?: Readonly<Record<string, unknown>>
}

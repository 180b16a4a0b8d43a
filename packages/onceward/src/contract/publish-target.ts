/**
 * Where `effects.publish(name, …)` sends its messages. `cdc`: the row is left for a connector that reads the
 * outbox table, and removed after a while.
 */
export type PublishTarget = PublishPlace & {
  /**
   * Default false. True: that a message published here is noted in its transaction and stays known when the
   * outbox row is gone; see `docs/explain.md`.
   */
  readonly evidence?: boolean
  /**
   * Which broker of that kind, as `onceward status` names it, such as `rabbitmq:eu-1/orders`; a relay that is
   * connected there carries it. Default: the one whose address the process has, for a producer the only one
   * that the database knows.
   */
  readonly destination?: string
}

export type PublishPlace =
  | {
      readonly broker: 'kafka'
      readonly topic: string
      /**
       * The most that is published. Default: `max.message.bytes` of the topic where this process can ask its
       * cluster, else Kafka's default of 1,048,588. What does not fit is refused before anything is written.
       */
      readonly bytesMax?: number
    }
  | { readonly broker: 'cdc'; readonly topic: string }
  | { readonly broker: 'postgres'; readonly queue: string }
  | { readonly broker: 'rabbitmq'; readonly queue: string }
  | { readonly broker: 'rabbitmq'; readonly exchange: string; readonly routingKey: string }

export interface PublishRequest {
  /** Bytes are published as they are; anything else as JSON. */
  body: unknown
  /**
   * Messages of one key reach a target in the order in which their transactions locked what the key names.
   * Default none: no order.
   */
  key?: string | null
  /**
   * The message id. Default: made from consumer, message id, target and the number of this call, so that
   * doing it again gives the same.
   */
  id?: string
  type?: string
  contentType?: string
  /** Default: the correlation id of the message that is being handled. */
  correlationId?: string
  headers?: Readonly<Record<string, unknown>>
}

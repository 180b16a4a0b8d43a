export interface OutgoingSession {
  /** Records intents of external effects, one per (consumer name, target, key). */
  request(intents: readonly Intent[]): Promise<readonly IntentAnswer[]>

  /** Writes messages into the outbox, in this order; a relay publishes them after the commit. */
  publish(messages: readonly Outgoing[]): Promise<void>
}

export interface Intent {
  readonly messageId: string
  /** The business key of the message; null when it has none. */
  readonly businessKey: string | null
  /** The kind of the target. */
  readonly effectType: string
  readonly target: string
  readonly key: string
  readonly body: Buffer
  readonly contentType: string
  /** Digest over the bytes that will be sent. */
  readonly digest: Buffer
}

/**
 * A message of the outbox. Its destination is a kind of broker, and there a queue, a topic, or an exchange
 * with `queue` as routing key.
 */
export interface Outgoing {
  readonly broker: string
  /** Which broker of that kind, by name. Absent: the consumer's own, see `ConsumerFacts.destinations`. */
  readonly destination?: string
  readonly exchange: string | null
  readonly queue: string
  /** The same each time the same cause publishes it. */
  readonly messageId: string
  /** Messages of one key reach one queue in order. */
  readonly key: string | null
  /** As stored JSON. */
  readonly headers: string
  readonly properties: string
  readonly body: Buffer
  /** The message whose handler publishes it, when evidence of it is kept. */
  readonly cause?: string
}

export type IntentAnswer = 'recorded' | 'suppressed duplicate' | 'conflict'

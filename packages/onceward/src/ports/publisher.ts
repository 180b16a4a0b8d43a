import type { DeliveryProperties } from './source.ts'

/** A message that leaves the outbox. */
export interface OutgoingMessage {
  /** Null: `queue` is a queue or topic. Otherwise `queue` is the routing key. */
  readonly exchange: string | null
  readonly queue: string
  /** The same at every try: a consumer that receives two copies recognises the second. */
  readonly messageId: string
  /** Orders the messages of one queue; null where their order does not matter. */
  readonly key: string | null
  readonly headers: Readonly<Record<string, unknown>>
  readonly properties: DeliveryProperties
  readonly body: Buffer
}

/** `behind`: not sent, because an earlier message of its key was not confirmed. */
export type PublishAnswer = 'confirmed' | 'behind' | Error

/** The broker adapter of the relay. */
export interface Publisher {
  /**
   * Called by the relay, several calls at a time, never with one key in two of them. Resolves when the broker
   * has answered for each message, in their order; no messages, no answers. Only `confirmed` means that the
   * broker stored the message. After an error, or a rejection of the whole call, it may have been stored, and
   * the relay publishes it again under the same id. A message that the broker refuses does not fail the
   * others. Of two messages with the same queue and key the later is never stored unless the earlier is. Once
   * `still` returns false no further message is sent.
   */
  publish(messages: readonly OutgoingMessage[], still: () => boolean): Promise<readonly PublishAnswer[]>

  /**
   * Called once, after the relay has finished. Disconnects within a bounded time; calls in progress fail as
   * unconfirmed. A second call does nothing.
   */
  close(): Promise<void>

  /** Connects, and so learns the identity of the broker. Absent: the first message does it. */
  connect?(): Promise<void>

  /**
   * The largest message that each queue accepts, or why that is unknown. Absent: the broker has no such
   * limits. Rejects when the broker does not answer.
   */
  readLimits?(queues: readonly string[]): Promise<ReadonlyMap<string, number | Error>>
}

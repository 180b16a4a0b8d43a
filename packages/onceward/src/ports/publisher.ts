import type { DeliveryProperties } from './source.ts'

/** A message on its way out of the outbox. */
export interface OutgoingMessage {
  /** Null: `queue` is a queue or topic. Otherwise `queue` is the routing key. */
  readonly exchange: string | null
  readonly queue: string
  /** The same at every attempt, so a receiver of two copies recognises the second. */
  readonly messageId: string
  readonly key: string | null
  readonly headers: Readonly<Record<string, unknown>>
  readonly properties: DeliveryProperties
  readonly body: Buffer
}

/** `behind`: not sent, because an earlier one of its key was not confirmed. */
export type PublishAnswer = 'confirmed' | 'behind' | Error

/** A broker, as far as the relay needs one. */
export interface Publisher {
  /**
   * Called by the relay, several calls at a time, never with one key in two of them. Resolves when the broker
   * has answered every message, in their order. Only `confirmed` means that the broker has the message. After
   * an error it may or may not have it, and the relay publishes it again. Of two messages with the same queue
   * and key, the later is never stored unless the earlier is. Once `still` returns false, the publisher
   * starts nothing more.
   */
  publish(messages: readonly OutgoingMessage[], still: () => boolean): Promise<readonly PublishAnswer[]>
  /** Connects, which identifies the broker. When absent, the first message connects. */
  connect?(): Promise<void>
  /**
   * The largest message that each queue accepts, or why it is unknown. Absent when the broker has no such
   * limits. Rejects when the broker does not answer.
   */
  readLimits?(queues: readonly string[]): Promise<ReadonlyMap<string, number | Error>>
  /** Called once by the publisher's owner, after the relay has finished. */
  close(): Promise<void>
}

/** The name of an ordered sequence: a key at a queue. Null without a key. */
export function lineOf({ exchange, queue, key }: Pick<OutgoingMessage, 'exchange' | 'queue' | 'key'>) {
  return key === null ? null : `${exchange?.length},${queue.length},${exchange}${queue}${key}`
}

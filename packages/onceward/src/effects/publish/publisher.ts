import type { DeliveryProperties } from '../../contracts/source.ts'

/** A message on its way out of the outbox. */
export interface OutgoingMessage {
  readonly queue: string
  /** The same at every try: whoever receives two copies recognises the second. */
  readonly messageId: string
  readonly key: string | null
  readonly headers: Readonly<Record<string, unknown>>
  readonly properties: DeliveryProperties
  readonly body: Buffer
}

/** A broker, as far as the relay needs one. */
export interface Publisher {
  /**
   * Called by the relay with one batch at a time. Resolves when the broker has answered for each message, in their order.
   * Only `confirmed` means that a queue has it; after an error it may or may not, and is published again.
   */
  publish(messages: readonly OutgoingMessage[]): Promise<readonly ('confirmed' | Error)[]>
  /** Called once by whoever made the publisher, after the relay has finished. */
  close(): Promise<void>
}

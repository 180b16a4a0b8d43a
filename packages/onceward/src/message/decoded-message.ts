import type { Envelope } from '../contract/handler.ts'
import type { Delivery } from '../ports/source.ts'
import type { ReadableMessage } from './received.ts'

/** Values computed on first use: most messages are applied, and only their id is needed. */
export interface Later<M> {
  envelope(read: ReadableMessage<M>): Envelope
  digest(delivery: Delivery): Buffer
}

export interface Keys {
  readonly businessKey: string | null
  readonly orderKey: string | null
  readonly businessDigest: Buffer | null
}

/**
 * A message with its identities. The getters belong to the class: on each object they would cost as much as
 * the work they defer.
 */
export class DecodedMessage<M> implements ReadableMessage<M> {
  readonly readable = true
  readonly delivery: Delivery
  readonly id: string
  readonly lane: string | null
  readonly message: M
  readonly businessKey: string | null
  readonly orderKey: string | null
  readonly businessDigest: Buffer | null
  handlerMs = 0
  readonly #later: Later<M>
  #digest: Buffer | null
  #envelope: Envelope | null = null

  constructor(
    delivery: Delivery,
    message: M,
    id: string,
    keys: Keys,
    lane: string | null,
    digest: Buffer | null,
    later: Later<M>,
  ) {
    this.delivery = delivery
    this.id = id
    this.lane = lane
    this.message = message
    this.businessKey = keys.businessKey
    this.orderKey = keys.orderKey
    this.businessDigest = keys.businessDigest
    this.#later = later
    this.#digest = digest
  }

  get digest(): Buffer {
    this.#digest ??= this.#later.digest(this.delivery)
    return this.#digest
  }

  get envelope(): Envelope {
    this.#envelope ??= this.#later.envelope(this)
    return this.#envelope
  }
}

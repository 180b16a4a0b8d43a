import type { Envelope } from '../contract/contract.ts'
import type { Delivery } from '../contracts/source.ts'
import type { ReadableMessage } from './received.ts'

export const noDigest = Buffer.alloc(0)

/** A message whose digest is computed when somebody asks. A getter of the class: on an object of its own it costs as much as the digest. */
export class LateDigest<M> implements ReadableMessage<M> {
  readonly readable = true
  readonly delivery: Delivery
  readonly id: string
  readonly lane: string | null
  readonly message: M
  readonly envelope: Envelope
  readonly businessDigest: Buffer | null
  readonly #digest: (delivery: Delivery) => Buffer

  constructor(read: Omit<ReadableMessage<M>, 'digest'>, digest: (delivery: Delivery) => Buffer) {
    this.delivery = read.delivery
    this.id = read.id
    this.lane = read.lane
    this.message = read.message
    this.envelope = read.envelope
    this.businessDigest = read.businessDigest
    this.#digest = digest
  }

  get digest(): Buffer {
    return this.#digest(this.delivery)
  }
}

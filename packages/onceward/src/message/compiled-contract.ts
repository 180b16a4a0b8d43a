import type { Consumer } from '../contract/define-consumer.ts'
import type { Delivery } from '../ports/source.ts'
import { contentDigest, plainDigest } from './content-digest.ts'
import { readId } from './identity.ts'
import { attempt, compileIdentities, contentId, type Identities } from './read-identities.ts'
import { knownOf, orElse } from './unreadable-message.ts'

/** What reading needs of a contract, compiled once. */
export class CompiledContract<M, Tx> {
  readonly consumer: Consumer<M, Tx>
  readonly identities: Identities<M>
  readonly #byContent: boolean

  constructor(consumer: Consumer<M, Tx>) {
    this.consumer = consumer
    this.identities = compileIdentities(consumer.identity)
    this.#byContent = consumer.identity.id === 'content'
  }

  /** The lane of a message without an order key. */
  laneOf(delivery: Delivery): string | null {
    return this.consumer.order === 'partition' ? delivery.partition : null
  }

  idOf(message: M, delivery: Delivery): ReturnType<typeof readId> {
    const known = knownOf(delivery)
    if (known !== undefined) return { id: known.messageId }
    if (this.#byContent) return { id: contentId(this.digestLater(delivery)) }
    return readId(attempt(this.identities.id, message, delivery))
  }

  digestNow(delivery: Delivery): Buffer {
    return contentDigest(delivery, this.consumer.message.digestHeaders)
  }

  /** Never throws. */
  digestLater(delivery: Delivery): Buffer {
    return orElse(
      () => this.digestNow(delivery),
      () => plainDigest(delivery),
    )
  }
}

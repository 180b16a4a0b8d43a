import type { Consumer } from '../contract/define-consumer.ts'
import type { Delivery } from '../contracts/source.ts'
import type { Enrolment, Store } from '../contracts/store.ts'
import type { EarlierAttempts } from '../contracts/suspects.ts'
import type { Received } from '../message/received.ts'
import { bytesKey, unreadKiller } from '../message/unread.ts'
import type { Surroundings } from '../surroundings.ts'
import type { StoreWatch } from './store-watch.ts'
import type { Suspicion } from './suspicion.ts'

export interface WaryReadingOptions<M, Tx> {
  readonly consumer: Consumer<M, Tx>
  readonly suspicion: Suspicion
  readonly store: Store<Tx>
  readonly enrolment: Enrolment
  readonly watch: StoreWatch<Tx>
  readonly world: Surroundings
  /** No handler follows: who is read is through. */
  readonly readsOnly: boolean
}

/**
 * Codecs, schemas and identity functions are the contract's code, and may end the process as a handler does. So suspects are read one at a time, each
 * with an attempt on record under its bytes: nothing else of it is known.
 */
export class WaryReading<M, Tx> {
  readonly #options: WaryReadingOptions<M, Tx>
  #survived: string | undefined

  constructor(options: WaryReadingOptions<M, Tx>) {
    this.#options = options
  }

  suspects(delivery: Delivery): boolean {
    return delivery.held?.read === undefined && this.#options.suspicion.suspects(delivery)
  }

  async read(
    delivery: Delivery,
    read: (delivery: Delivery) => Received<M> | Promise<Received<M>>,
  ): Promise<Received<M>> {
    const { consumer, store, enrolment, watch, suspicion, readsOnly } = this.#options
    const { attemptsMax } = consumer.failure
    const key = bytesKey(consumer, delivery)
    const survived = this.#survived
    const earlier = await watch.persist(() =>
      store.suspects!.beginAttempt(enrolment, key, attemptsMax, survived),
    )
    this.#survived = undefined
    if (earlier.deaths > 0 && earlier.attempts >= attemptsMax) return this.#found(delivery, earlier)
    const received = await read(delivery)
    this.#survived = key
    if (readsOnly) suspicion.cleared(delivery)
    return received
  }

  /** Not read again: it goes where the contract sends what kills. */
  #found(delivery: Delivery, earlier: EarlierAttempts): Received<M> {
    const { consumer, suspicion, world } = this.#options
    const killer = unreadKiller(consumer, delivery, earlier)
    suspicion.explained(delivery)
    world.metrics.add('killers', 1, { consumer: consumer.name })
    world.log.error('a message that kills its process while it is read is not read again', {
      consumer: consumer.name,
      position: delivery.position,
      digest: killer.digest.toString('hex'),
      deaths: earlier.deaths,
    })
    return killer
  }

  /** Nobody is being read any more. */
  async end(): Promise<void> {
    const id = this.#survived
    if (id === undefined) return
    const { store, enrolment, watch, world } = this.#options
    world.reach('suspect.read')
    await watch.persist(() => store.transaction(enrolment, session => session.withdrawAttempts!([id])))
    this.#survived = undefined
  }
}

import type { Consumer } from '../../contract/define-consumer.ts'
import type { Environment } from '../../environment.ts'
import type { Received } from '../../message/received.ts'
import { bytesKey, unreadKiller } from '../../message/unreadable-message.ts'
import type { Enrolment } from '../../ports/enrolment.ts'
import type { Delivery } from '../../ports/source.ts'
import type { Store } from '../../ports/store.ts'
import type { EarlierAttempts } from '../../ports/suspects.ts'
import type { Decided } from '../batch/batch-attempt.ts'
import type { StoreWatch } from '../consumer/store-watch.ts'
import type { CrashSuspects } from './crash-suspects.ts'
import { GroupRoom } from './suspect-groups.ts'

export interface SuspectReaderOptions<M, Tx> {
  readonly consumer: Consumer<M, Tx>
  readonly crashSuspects: CrashSuspects
  readonly store: Store<Tx>
  readonly enrolment: Enrolment
  readonly watch: StoreWatch<Tx>
  readonly env: Environment
  /** No handler follows: a suspect is cleared once it is read. */
  readonly readsOnly: boolean
}

type Read<M> = (delivery: Delivery) => Received<M> | Promise<Received<M>>

/**
 * Codecs, schemas and identity functions are the contract's code, and may crash the process as a handler may.
 * Suspects are therefore read in shrinking groups, finally alone, each with a record under the digest of its
 * bytes: its id is not known yet.
 */
export class SuspectReader<M, Tx> {
  readonly #options: SuspectReaderOptions<M, Tx>
  /** Messages that crash the reader; they are not read again, and not decided yet. */
  readonly #found = new Set<Received>()
  #survived: readonly string[] = []

  constructor(options: SuspectReaderOptions<M, Tx>) {
    this.#options = options
  }

  suspects(delivery: Delivery): boolean {
    return delivery.held?.read === undefined && this.#options.crashSuspects.suspects(delivery)
  }

  /**
   * Reads the suspects among these deliveries, then withdraws their records. Other messages must not be read
   * meanwhile, because their crash would be blamed on the suspects.
   */
  async readSuspects(
    deliveries: readonly Delivery[],
    read: Read<M>,
  ): Promise<ReadonlyMap<Delivery, Received<M>>> {
    const { consumer, store, enrolment, watch, crashSuspects } = this.#options
    const done = new Map<Delivery, Received<M>>()
    let waiting = crashSuspects.any ? deliveries.filter(delivery => this.suspects(delivery)) : []
    if (waiting.length === 0) return done
    const keys = new Map(waiting.map(delivery => [delivery, bytesKey(consumer, delivery)]))
    const limits = await watch.persist(() => store.suspects!.groupLimits(enrolment, [...keys.values()]))
    const limitOf = (delivery: Delivery) => limits.get(keys.get(delivery)!) ?? Number.POSITIVE_INFINITY
    while (waiting.length > 0) {
      const room = new GroupRoom(waiting.length)
      const group = waiting.filter(delivery => room.take(limitOf(delivery)))
      const ids = group.map(delivery => keys.get(delivery)!)
      for (const [delivery, received] of await this.#readGroup(group, ids, read)) done.set(delivery, received)
      // A run that sends a heartbeat again clears its suspects.
      waiting = waiting.filter(delivery => !done.has(delivery) && this.suspects(delivery))
    }
    await this.#end()
    return done
  }

  async #readGroup(
    group: readonly Delivery[],
    ids: readonly string[],
    read: Read<M>,
  ): Promise<readonly (readonly [Delivery, Received<M>])[]> {
    const { crashSuspects, readsOnly, env } = this.#options
    const killed = await this.#begin(ids)
    env.reach('suspect.reading')
    if (killed !== null) return [[group[0]!, this.#giveUp(group[0]!, killed)]]
    const received = await Promise.all(group.map(async delivery => [delivery, await read(delivery)] as const))
    this.#survived = ids
    if (readsOnly) for (const delivery of group) crashSuspects.cleared(delivery)
    return received
  }

  /** Returns the earlier attempts of a suspect that must not be read again. */
  async #begin(ids: readonly string[]): Promise<EarlierAttempts | null> {
    const { consumer, store, enrolment, watch } = this.#options
    const { attemptsMax } = consumer.failure
    const survived = this.#survived
    const suspects = store.suspects!
    if (ids.length > 1) {
      await watch.persist(() => suspects.beginGroup(enrolment, ids, ids.length, survived))
      this.#survived = []
      return null
    }
    const earlier = await watch.persist(() =>
      suspects.beginAttempt(enrolment, ids[0]!, attemptsMax, survived),
    )
    this.#survived = []
    return earlier.deaths > 0 && earlier.attempts >= attemptsMax ? earlier : null
  }

  /** Not read again: the contract decides its outcome. */
  #giveUp(delivery: Delivery, earlier: EarlierAttempts): Received<M> {
    const { consumer, env } = this.#options
    const killer = unreadKiller(consumer, delivery, earlier)
    this.#found.add(killer)
    env.log.error('a message that crashes its process while it is read is not read again', {
      consumer: consumer.name,
      position: delivery.position,
      digest: killer.digest.toString('hex'),
      deaths: earlier.deaths,
    })
    return killer
  }

  /**
   * Called with committed decisions. Only a crashing message that is set aside explains the crashes; until
   * then another one may still be read.
   */
  decided(decided: readonly Decided<M>[]): void {
    if (this.#found.size === 0) return
    const { consumer, crashSuspects, env } = this.#options
    for (const { received, decision } of decided) {
      if (decision.outcome === 'retry' || !this.#found.delete(received)) continue
      crashSuspects.explained(received.delivery)
      env.metrics.add('parkedSuspects', 1, { consumer: consumer.name })
    }
  }

  /** All suspects are read. */
  async #end(): Promise<void> {
    const ids = this.#survived
    if (ids.length === 0) return
    const { store, enrolment, watch, env } = this.#options
    env.reach('suspect.read')
    await watch.persist(() =>
      store.transaction(enrolment, session => session.suspects!.withdrawAttempts(ids)),
    )
    this.#survived = []
  }
}

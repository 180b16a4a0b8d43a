import type { Consumer } from '../../contract/define-consumer.ts'
import type { Timers } from '../../environment.ts'
import { matchDeliveryKey } from '../../message/match-delivery-key.ts'
import { createMessageReader, isRegistryUnavailable, type MessageReader } from '../../message/read-message.ts'
import type { Received } from '../../message/received.ts'
import { isUnvalidated } from '../../message/unreadable-message.ts'
import type { SourceCapabilities } from '../../ports/capabilities.ts'
import type { Delivery } from '../../ports/source.ts'
import type { SuspectReader } from '../crash-suspects/suspect-reader.ts'
import type { RegistryWait } from './registry-wait.ts'

/** How long the other messages wait for slow reading, if order allows them to pass. */
const togetherMs = 100

/**
 * Turns deliveries into messages. An asynchronous codec or schema has `handlerTimeoutMs` per message. Without
 * order only the slow messages wait; the failed attempt counts like a handler's, and the delivery is read
 * again after its delay. With order all later messages wait, because the key of a slow one is unknown; it is
 * read again at once until its attempts are used up. Messages whose registry is unavailable wait without
 * attempts.
 */
export class Intake<M> {
  readonly #read: MessageReader<M>
  readonly #timers: Timers
  readonly #ordered: boolean
  readonly #attemptsMax: number
  readonly #onSlow: (received: Received<M>) => void
  readonly #registry: RegistryWait
  readonly #cancels = new Set<() => void>()
  #stopped = false

  constructor(
    consumer: Consumer<M, never>,
    { ordersByDeliveryKey = false }: SourceCapabilities,
    timers: Timers,
    registry: RegistryWait,
    onSlow: (received: Received<M>) => void,
  ) {
    const { handlerTimeoutMs } = consumer.batch
    this.#timers = timers
    this.#registry = registry
    this.#onSlow = onSlow
    this.#ordered = consumer.order !== 'none'
    this.#attemptsMax = consumer.failure.attemptsMax
    const read = createMessageReader(consumer, (work, late, { name, extraMs }) => {
      const limitMs = handlerTimeoutMs + extraMs
      return this.#orAfter(limitMs, work, () => late(`${name} did not finish in ${limitMs} ms`))
    })
    this.#read = consumer.order === 'key' && ordersByDeliveryKey ? delivery => matched(read(delivery)) : read
  }

  /**
   * Resolves with the messages that are ready, in order; slow ones follow through `onSlow`, one at a time.
   * Rejects only if the store refuses to record suspects.
   */
  async take(
    deliveries: readonly Delivery[],
    suspectReader: Pick<SuspectReader<M, never>, 'readSuspects'> | null = null,
  ): Promise<readonly Received<M>[]> {
    const suspects = await suspectReader?.readSuspects(deliveries, this.#read)
    const read = deliveries.map(delivery => this.#readSuspect(delivery, suspects) ?? this.#read(delivery))
    if (!read.some(one => one instanceof Promise)) return read as Received<M>[]
    const known = read.map((one, index) => this.#untilKnown(one, deliveries[index]!))
    if (this.#ordered) return Promise.all(known.map((one, index) => this.#readOut(one, deliveries[index]!)))
    const ready = new Set<Received<M>>()
    let together = true
    const arrive = (received: Received<M>) => (together ? void ready.add(received) : this.#onSlow(received))
    const all = Promise.all(known.map(async one => arrive(await one)))
    await this.#orAfter(togetherMs, all, () => [])
    together = false
    return [...ready]
  }

  /** Drops messages that are still being read; their deliveries stay unsettled. */
  stop(): void {
    this.#stopped = true
    this.#registry.stop()
    for (const cancel of this.#cancels) cancel()
    this.#cancels.clear()
  }

  #readSuspect(
    delivery: Delivery,
    suspects: ReadonlyMap<Delivery, Received<M>> | undefined,
  ): Received<M> | Promise<Received<M>> | undefined {
    const suspect = suspects?.get(delivery)
    return suspect !== undefined && isRegistryUnavailable(suspect) ? Promise.resolve(suspect) : suspect
  }

  async #untilKnown(first: Received<M> | Promise<Received<M>>, delivery: Delivery): Promise<Received<M>> {
    const received = first instanceof Promise ? await first : first
    return isRegistryUnavailable(received)
      ? this.#registry.readOut(received, () => this.#read(delivery))
      : received
  }

  async #readOut(first: Promise<Received<M>>, delivery: Delivery): Promise<Received<M>> {
    let received = await first
    for (let attempts = 1; attempts < this.#attemptsMax && isUnvalidated(received); attempts++) {
      if (this.#stopped) break
      received = await this.#untilKnown(this.#read(delivery), delivery)
    }
    return received
  }

  /** `work` must not reject. */
  #orAfter<T>(delayMs: number, work: Promise<T>, late: () => T): Promise<T> {
    const { promise, resolve } = Promise.withResolvers<T>()
    const cancel = this.#timers.after(delayMs, () => {
      this.#cancels.delete(cancel)
      resolve(late())
    })
    this.#cancels.add(cancel)
    void work.then(value => {
      cancel()
      this.#cancels.delete(cancel)
      resolve(value)
    })
    return promise
  }
}

function matched<M>(read: Received<M> | Promise<Received<M>>): Received<M> | Promise<Received<M>> {
  return read instanceof Promise ? read.then(matchDeliveryKey) : matchDeliveryKey(read)
}

import type { QueueOpenOptions, QueueSource } from '../../ports/source.ts'
import type { Actor } from './actor.ts'
import { brokerRefused, type SimulatedBroker } from './broker.ts'
import type { Faults } from './faults.ts'
import { type AckWatcher, type Publication, publicationName } from './publication.ts'
import { QueueSubscription, type SimulatedToken } from './queue-subscription.ts'
import type { Scheduler } from './scheduler.ts'

/** A message in the broker: waiting, or delivered to the subscription with its token. */
export interface QueueEntry {
  readonly publication: Publication
  deliveries: number
  token: SimulatedToken | null
}

/**
 * A queue broker. A message is delivered to one subscription at a time, and is redelivered under a new token
 * when that connection ends. With `ordered`, messages of one key are delivered in order and never to two
 * subscriptions at once, as with a single active consumer or the PostgreSQL queue's key order. Otherwise the
 * order is arbitrary.
 */
export class SimulatedQueue implements SimulatedBroker {
  readonly scheduler: Scheduler
  readonly faults: Faults
  readonly watcher: AckWatcher
  readonly #ordered: boolean
  readonly #entries: QueueEntry[] = []
  readonly #subscriptions = new Set<QueueSubscription>()

  constructor(scheduler: Scheduler, faults: Faults, watcher: AckWatcher, ordered: boolean) {
    this.scheduler = scheduler
    this.faults = faults
    this.watcher = watcher
    this.#ordered = ordered
  }

  /** True when no message is left, waiting or delivered. */
  get drained(): boolean {
    return this.#entries.length === 0
  }

  publish(publication: Publication): void {
    this.#entries.push({ publication, deliveries: 0, token: null })
    this.wake()
  }

  /** The queue as one process sees it. */
  sourceOf(actor: Actor): QueueSource {
    return {
      name: 'simulated queue',
      capabilities: {
        order: { key: this.#ordered, partition: false },
        positions: false,
        deliveryCount: true,
        redelivers: true,
      },
      open: (options: QueueOpenOptions) =>
        this.scheduler.call(actor, 'open', () => {
          if (this.faults.strike('failed start')) throw brokerRefused()
          const subscription = new QueueSubscription(this, actor, options)
          if (actor.state !== 'dead') this.#subscriptions.add(subscription)
          return subscription
        }),
    }
  }

  /** Changes the order of waiting messages, where none is promised. */
  reorder(): void {
    if (this.#ordered || !this.faults.strike('reorder')) return
    const { draws } = this.scheduler
    for (let end = this.#entries.length; end > 1; end--) {
      const from = draws.below(end)
      const moved = this.#entries[from]!
      this.#entries[from] = this.#entries[end - 1]!
      this.#entries[end - 1] = moved
    }
  }

  /** What may be delivered to this subscription now, at most `max`. */
  take(subscription: QueueSubscription, max: number): QueueEntry[] {
    const taken: QueueEntry[] = []
    const closed = new Set<string>()
    for (const entry of this.#entries) {
      if (taken.length >= max) break
      const { key } = entry.publication
      if (entry.token === null && !closed.has(key)) taken.push(entry)
      else if (this.#ordered && entry.token?.subscription !== subscription) closed.add(key)
    }
    return taken
  }

  hasFor(subscription: QueueSubscription): boolean {
    return this.take(subscription, 1).length > 0
  }

  /** The broker deletes a message, if this is still its token. */
  ack(token: SimulatedToken): boolean {
    const { entry } = token
    if (entry.token !== token) return false
    this.scheduler.remark(`acked ${publicationName(entry.publication)}`)
    this.#entries.splice(this.#entries.indexOf(entry), 1)
    this.watcher.acked(entry.publication)
    return true
  }

  /**
   * The broker ends a subscription's connection and takes its messages back. The subscription learns of it
   * later.
   */
  release(subscription: QueueSubscription): void {
    for (const entry of this.#entries) if (entry.token?.subscription === subscription) entry.token = null
    this.wake()
  }

  /** Ends the connection of a process, which may be dead, frozen or unaware of it. */
  disconnect(actor: Actor): boolean {
    const mine = [...this.#subscriptions].filter(subscription => subscription.actor === actor)
    for (const subscription of mine) subscription.lose('closed by the broker')
    return mine.length > 0
  }

  forget(subscription: QueueSubscription): void {
    this.#subscriptions.delete(subscription)
    this.release(subscription)
  }

  wake(): void {
    for (const subscription of this.#subscriptions) subscription.wake()
  }
}

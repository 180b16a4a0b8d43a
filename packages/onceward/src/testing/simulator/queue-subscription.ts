import type { Delivery, QueueOpenOptions, Subscription } from '../../ports/source.ts'
import type { Actor } from './actor.ts'
import { publicationName } from './publication.ts'
import type { QueueEntry, SimulatedQueue } from './queue.ts'

/** One delivery: settling it counts only while the broker has the message delivered under this token. */
export interface SimulatedToken {
  readonly entry: QueueEntry
  readonly subscription: QueueSubscription
}

/** The client of a queue. A delivery it takes for live may already belong to another subscription. */
export class QueueSubscription implements Subscription {
  readonly actor: Actor
  readonly #queue: SimulatedQueue
  readonly #options: QueueOpenOptions
  readonly #live = new Set<SimulatedToken>()
  #waiting: { readonly max: number; readonly resolve: (deliveries: readonly Delivery[]) => void } | null =
    null
  #offered = false
  #closed = false

  constructor(queue: SimulatedQueue, actor: Actor, options: QueueOpenOptions) {
    this.#queue = queue
    this.actor = actor
    this.#options = options
  }

  receive(max: number): Promise<readonly Delivery[]> {
    if (this.#closed) return Promise.resolve([])
    return new Promise(resolve => {
      this.#waiting = { max, resolve }
      this.wake()
    })
  }

  settle(deliveries: readonly Delivery[]): Promise<{ readonly missed: number }> {
    const tokens = deliveries.map(({ token }) => token as SimulatedToken)
    const known = tokens.filter(token => this.#live.delete(token))
    const stale = tokens.length - known.length
    if (known.length === 0) return Promise.resolve({ missed: stale })
    const label = `settle ${known.map(({ entry }) => publicationName(entry.publication)).join(', ')}`
    return this.#queue.scheduler.call(this.actor, label, () => {
      const lost = this.#queue.faults.strike('settle lost')
      const arrives = !lost || this.#queue.scheduler.draws.chance(0.5)
      const acked = arrives ? known.filter(token => this.#queue.ack(token)).length : 0
      if (lost) this.lose('cut while settling')
      this.wake()
      return { missed: stale + (lost ? known.length : known.length - acked) }
    })
  }

  isLive({ token }: Delivery): boolean {
    return this.#live.has(token as SimulatedToken)
  }

  close(): Promise<void> {
    return this.#queue.scheduler.call(this.actor, 'close the subscription', () => {
      this.#closed = true
      this.#live.clear()
      this.#queue.forget(this)
      this.#waiting?.resolve([])
      this.#waiting = null
    })
  }

  /** The connection ends: the broker takes everything back, and the client learns of it later. */
  lose(reason: string): void {
    this.#queue.release(this)
    const gone = [...this.#live]
    this.#queue.scheduler.notify(this.actor, `learns of its connection: ${reason}`, () => {
      for (const token of gone) this.#live.delete(token)
      this.#options.onEvent({ kind: 'disconnected', reason })
      this.wake()
    })
  }

  /** There may be a message for a waiting receive. */
  wake(): void {
    if (this.#waiting === null || this.#offered || this.actor.state === 'dead') return
    if (this.#room() <= 0 || !this.#queue.hasFor(this)) return
    this.#offered = true
    this.#queue.scheduler.offer(this.actor, 'delivery', () => this.#deliver())
  }

  #room(): number {
    return this.#options.inFlightMax - this.#live.size
  }

  #deliver(): void {
    this.#offered = false
    if (this.#waiting === null) return
    const { draws } = this.#queue.scheduler
    const max = Math.min(this.#waiting.max, this.#room())
    this.#queue.reorder()
    const entries = max > 0 ? this.#queue.take(this, draws.between(1, max)) : []
    if (entries.length === 0) return
    const { resolve } = this.#waiting
    this.#waiting = null
    this.#queue.scheduler.remark(
      `delivered ${entries.map(({ publication }) => publicationName(publication)).join(', ')}`,
    )
    const deliveries = entries.map(entry => this.#hand(entry))
    this.actor.hear(() => resolve(deliveries))
  }

  #hand(entry: QueueEntry): Delivery {
    const token: SimulatedToken = { entry, subscription: this }
    entry.token = token
    this.#live.add(token)
    const { body, properties, key } = entry.publication
    return {
      body,
      headers: {},
      properties,
      origin: 'simulated',
      position: null,
      partition: '',
      place: null,
      key,
      redelivered: entry.deliveries > 0,
      deliveryCount: entry.deliveries++,
      token,
    }
  }
}

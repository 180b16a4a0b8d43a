import { bareCopy, emptyMap } from '../../message/bare-map.ts'
import type { Delivery, DeliveryProperties, Source, Subscription } from '../../ports/source.ts'

/** One message of a queue in memory. */
export interface MemoryMessage {
  readonly body: Buffer | string
  readonly headers?: Readonly<Record<string, unknown>>
  readonly properties?: DeliveryProperties
  readonly key?: string | null
}

/**
 * A queue in this process, for unit tests and first steps. Each message is delivered to one subscription. It
 * is redelivered with a higher count when that subscription ends without settling it.
 */
export class MemoryQueue implements Source {
  readonly name = 'memory queue'
  readonly capabilities = {
    order: { key: true, partition: false },
    positions: false,
    deliveryCount: true,
    redelivers: true,
  }
  #ready: Entry[] = []
  readonly #open = new Set<MemorySubscription>()

  publish(...messages: readonly MemoryMessage[]): void {
    for (const message of messages) this.#ready.push({ message, deliveries: 0 })
    this.#wake()
  }

  /** Messages not settled yet, waiting or delivered. */
  get unsettled(): number {
    let held = 0
    for (const subscription of this.#open) held += subscription.held
    return this.#ready.length + held
  }

  open(options: { readonly inFlightMax: number }): Promise<MemorySubscription> {
    const subscription = new MemorySubscription(
      options.inFlightMax,
      max => this.#ready.splice(0, max),
      entries => {
        this.#open.delete(subscription)
        this.#ready.unshift(...entries)
        this.#wake()
      },
    )
    this.#open.add(subscription)
    return Promise.resolve(subscription)
  }

  /** As a broker does on a lost connection: every unsettled delivery becomes stale and is queued again. */
  disconnect(): void {
    for (const subscription of [...this.#open]) {
      const lost = subscription.lose()
      this.#ready.unshift(...lost)
    }
    this.#wake()
  }

  #wake(): void {
    for (const subscription of this.#open) subscription.wake()
  }
}

interface Entry {
  readonly message: MemoryMessage
  deliveries: number
}

class MemorySubscription implements Subscription {
  readonly #max: number
  readonly #take: (max: number) => Entry[]
  readonly #giveBack: (entries: Entry[]) => void
  readonly #unsettled = new Map<Delivery, Entry>()
  #waiting: (() => void) | null = null
  #closed = false

  constructor(max: number, take: (max: number) => Entry[], giveBack: (entries: Entry[]) => void) {
    this.#max = max
    this.#take = take
    this.#giveBack = giveBack
  }

  get held(): number {
    return this.#unsettled.size
  }

  async receive(max: number): Promise<readonly Delivery[]> {
    while (!this.#closed) {
      const entries = this.#take(Math.min(max, this.#max - this.#unsettled.size))
      if (entries.length > 0) return entries.map(entry => this.#deliver(entry))
      await new Promise<void>(resolve => {
        this.#waiting = resolve
      })
    }
    return []
  }

  settle(deliveries: readonly Delivery[]): Promise<{ missed: number }> {
    let missed = 0
    for (const delivery of deliveries) if (!this.#unsettled.delete(delivery)) missed++
    this.wake()
    return Promise.resolve({ missed })
  }

  isLive(delivery: Delivery): boolean {
    return this.#unsettled.has(delivery)
  }

  close(): Promise<void> {
    if (!this.#closed) {
      this.#closed = true
      this.#giveBack(this.lose())
      this.wake()
    }
    return Promise.resolve()
  }

  lose(): Entry[] {
    const entries = [...this.#unsettled.values()]
    this.#unsettled.clear()
    return entries
  }

  wake(): void {
    const waiting = this.#waiting
    this.#waiting = null
    waiting?.()
  }

  #deliver(entry: Entry): Delivery {
    const { body, headers, properties, key = null } = entry.message
    const delivery: Delivery = {
      body: typeof body === 'string' ? Buffer.from(body) : body,
      headers: headers === undefined ? emptyMap : bareCopy(headers),
      properties: properties === undefined ? emptyMap : bareCopy(properties),
      origin: 'memory',
      position: null,
      partition: '',
      place: null,
      key,
      redelivered: entry.deliveries > 0,
      deliveryCount: entry.deliveries,
      token: null,
    }
    entry.deliveries++
    this.#unsettled.set(delivery, entry)
    return delivery
  }
}

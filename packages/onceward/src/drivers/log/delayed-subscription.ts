import type { Delivery, PartitionLag, SubscribedLog, Subscription } from '../../ports/source.ts'

export interface DelayOptions {
  readonly delayMs: number
  /** What is delivered in place of the delivery; the token stays. */
  readonly restore: (delivery: Delivery) => Delivery
  /** The date, on the clock of the records. Read once for each record. */
  readonly wallMs: () => number
  /** For durations: setting the date back while a record waits must not prolong its wait. */
  readonly steadyMs: () => number
  /** Calls back once after the delay; the result cancels. */
  readonly after: (delayMs: number, callback: () => void) => () => void
}

interface Held {
  readonly delivery: Delivery
  readonly dueMs: number
}

/**
 * Delivers records once they are as old as the delay. Until then the member underneath keeps its session,
 * releases partitions as usual, and reads no further than it has room for. A clock that disagrees with the
 * records' never delays a record by more than `delayMs` from when it was read.
 */
export class DelayedSubscription implements Subscription {
  readonly #inner: Subscription
  readonly #options: DelayOptions
  readonly log: SubscribedLog
  #held: Held[] = []
  #reading: Promise<void> | null = null
  #failure: { readonly error: unknown } | null = null
  #closed = false
  #wake: () => void = () => {}

  constructor(inner: Subscription, options: DelayOptions) {
    this.#inner = inner
    this.#options = options
    const log = inner.log!
    this.log = {
      progressWith: (batch, done) => log.progressWith(batch, done),
      disown: partitions => log.disown(partitions),
    }
  }

  async receive(max: number): Promise<readonly Delivery[]> {
    while (!this.#closed) {
      if (this.#failure !== null) throw this.#failure.error
      const due = this.#takeDue(max)
      if (due.length > 0) return due
      this.#reading ??= this.#read(max)
      await this.#untilDueOrWoken()
    }
    return []
  }

  settle(deliveries: readonly Delivery[]): Promise<{ readonly missed: number }> {
    return this.#inner.settle(deliveries)
  }

  isLive(delivery: Delivery): boolean {
    return this.#inner.isLive(delivery)
  }

  lag(): readonly PartitionLag[] {
    return this.#inner.lag!()
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#wake()
    await this.#inner.close()
  }

  /** Drops the records of a revoked partition: its new owner reads them. */
  #takeDue(max: number): Delivery[] {
    const nowMs = this.#options.steadyMs()
    const due: Delivery[] = []
    const later: Held[] = []
    for (const held of this.#held) {
      if (!this.#inner.isLive(held.delivery)) continue
      if (held.dueMs <= nowMs && due.length < max) due.push(held.delivery)
      else later.push(held)
    }
    this.#held = later
    return due
  }

  async #read(max: number): Promise<void> {
    try {
      const { delayMs, restore } = this.#options
      const deliveries = await this.#inner.receive(max)
      const [wallMs, steadyMs] = [this.#options.wallMs(), this.#options.steadyMs()]
      for (const delivery of deliveries) {
        const ageMs = Math.max(0, wallMs - (delivery.properties.timestampMs ?? wallMs))
        this.#held.push({ delivery: restore(delivery), dueMs: steadyMs + delayMs - ageMs })
      }
    } catch (error) {
      this.#failure ??= { error }
    }
    this.#reading = null
    this.#wake()
  }

  async #untilDueOrWoken(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#wake = resolve
    const dueMs = Math.min(...this.#held.map(held => held.dueMs))
    const cancel = Number.isFinite(dueMs)
      ? this.#options.after(Math.max(1, dueMs - this.#options.steadyMs()), resolve)
      : () => {}
    await promise.finally(cancel)
  }
}

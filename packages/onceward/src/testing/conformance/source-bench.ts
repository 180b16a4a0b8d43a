import assert from 'node:assert/strict'
import type { Delivery, OpenOptions, Source, SourceEvent, Subscription } from '../../contracts/source.ts'
import { logOptions } from '../memory-checkpoints.ts'
import { until } from '../until.ts'
import type { PublishedMessage, SourceUnderTest } from './source.ts'

export interface OpenSubscription extends Subscription {
  readonly events: readonly SourceEvent[]
}

/** A queue with the subscriptions a case opens on it, all closed afterwards. */
export class SourceBench {
  readonly queue: SourceUnderTest
  readonly #open = new Set<Subscription>()

  constructor(queue: SourceUnderTest) {
    this.queue = queue
  }

  async open(
    options: Partial<OpenOptions> = {},
    source: Source = this.queue.source,
  ): Promise<OpenSubscription> {
    const events: SourceEvent[] = []
    const subscription = await source.open({
      inFlightMax: 1_000,
      inFlightBytesMax: 64 * 1024 * 1024,
      onEvent: event => void events.push(event),
      log: logOptions(),
      ...options,
    })
    this.#open.add(subscription)
    return Object.assign(bindAll(subscription), { events })
  }

  openAnother(options: Partial<OpenOptions> = {}): Promise<OpenSubscription> {
    return this.open(options, this.queue.another())
  }

  publish(...messages: readonly (PublishedMessage | string)[]): Promise<void> {
    return this.queue.publish(
      messages.map(message => (typeof message === 'string' ? { body: Buffer.from(message) } : message)),
    )
  }

  expectRemaining(count: number): Promise<void> {
    return expectRemaining(this.queue, count)
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open].map(subscription => subscription.close()))
    await this.queue.close()
  }
}

function bindAll(subscription: Subscription): Subscription {
  return {
    receive: max => subscription.receive(max),
    settle: deliveries => subscription.settle(deliveries),
    isLive: delivery => subscription.isLive(delivery),
    close: () => subscription.close(),
  }
}

/** Receives until `count` deliveries have come. */
export async function receiveCount(from: Subscription, count: number, max = 1_000): Promise<Delivery[]> {
  const received: Delivery[] = []
  while (received.length < count) {
    const more = await from.receive(Math.min(max, count - received.length))
    assert.ok(more.length > 0, 'receive answered with nothing although the subscription is open')
    received.push(...more)
  }
  return received
}

export const texts = (deliveries: readonly Delivery[]): string[] =>
  deliveries.map(({ body }) => body.toString())

export const numbered = (count: number, prefix = 'm'): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`)

/** Polls, because a broker may take a moment to count what came back. */
export async function expectRemaining(queue: SourceUnderTest, count: number): Promise<void> {
  let last = -1
  const matches = async () => {
    last = await queue.remaining()
    return last === count
  }
  await until(`the broker holds ${count}`, matches, { deadlineMs: 20_000 }).catch(() =>
    assert.fail(`the broker holds ${last} messages, expected ${count}`),
  )
}

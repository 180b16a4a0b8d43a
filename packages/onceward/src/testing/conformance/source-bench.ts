import assert from 'node:assert/strict'
import type {
  Delivery,
  LogOptions,
  OpenOptions,
  Source,
  SourceEvent,
  Subscription,
} from '../../ports/source.ts'
import { logOptions, MemoryCheckpoints } from '../memory-checkpoints.ts'
import { until } from '../until.ts'
import type { PublishedMessage, SourceUnderTest } from './source.ts'

export type BenchOptions = Partial<Omit<OpenOptions, 'log'>> & { readonly log?: Partial<LogOptions> }

/** The consumer of every case that is not about an engine. */
export const tester = logOptions().consumer

export interface OpenSubscription extends Subscription {
  readonly events: readonly SourceEvent[]
}

/** A queue or log with the subscriptions a case opens on it, all closed afterwards. */
export class SourceBench {
  readonly queue: SourceUnderTest
  /** Used by every subscription that brings none of its own. */
  readonly checkpoints = new MemoryCheckpoints()
  readonly #open = new Set<Subscription>()

  constructor(queue: SourceUnderTest) {
    this.queue = queue
  }

  async open(
    { log, ...options }: BenchOptions = {},
    source: Source = this.queue.source,
  ): Promise<OpenSubscription> {
    const events: SourceEvent[] = []
    const subscription = await source.open({
      inFlightMax: 1_000,
      inFlightBytesMax: 64 * 1024 * 1024,
      onEvent: event => void events.push(event),
      ...options,
      log: logOptions({ checkpoints: this.checkpoints, ...log }),
    })
    this.#open.add(subscription)
    return Object.assign(bindAll(subscription), { events })
  }

  openAnother(options: BenchOptions = {}): Promise<OpenSubscription> {
    return this.open(options, this.queue.another())
  }

  publish(...messages: readonly (PublishedMessage | string)[]): Promise<void> {
    return this.queue.publish(
      messages.map(message => (typeof message === 'string' ? { body: Buffer.from(message) } : message)),
    )
  }

  /** Every message to the partition of this index. */
  publishTo(partition: number, ...texts: readonly string[]): Promise<void> {
    return this.queue.publish(texts.map(text => ({ body: Buffer.from(text), partition })))
  }

  partition(index: number): string {
    return this.queue.partitions![index]!
  }

  /** The position of the next owner, as seen from outside. */
  position(partition: string): Promise<string | null> {
    return positionOf(
      this.queue,
      partition,
      tester,
      async () => this.checkpoints.stored(partition)?.next ?? null,
    )
  }

  expectRemaining(count: number): Promise<void> {
    return expectRemaining(this.queue, count, partition => this.position(partition))
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
    ...(subscription.log && { log: subscription.log }),
    lag: () => subscription.lag?.() ?? [],
    close: () => subscription.close(),
  }
}

/** Receives until `count` deliveries have arrived. */
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

/** The log's own position where it keeps one, otherwise the stored one. */
export async function positionOf(
  queue: SourceUnderTest,
  partition: string,
  consumer: LogOptions['consumer'],
  stored: () => Promise<string | null>,
): Promise<string | null> {
  return queue.committed === undefined ? stored() : queue.committed(partition, consumer)
}

/**
 * Polls, because a broker may take a moment to count returned messages. `position`: that of a partition of a
 * log.
 */
export async function expectRemaining(
  queue: SourceUnderTest,
  count: number,
  position: (partition: string) => Promise<string | null>,
): Promise<void> {
  let last = -1
  const matches = async () => {
    last = queue.remaining === undefined ? await remainingInLog(queue, position) : await queue.remaining()
    return last === count
  }
  await until(`the broker holds ${count}`, matches).catch(() =>
    assert.fail(`the broker holds ${last} messages, expected ${count}`),
  )
}

async function remainingInLog(
  { partitions = [], countFrom }: SourceUnderTest,
  position: (partition: string) => Promise<string | null>,
): Promise<number> {
  const counts = partitions.map(async partition => countFrom!(partition, await position(partition)))
  return (await Promise.all(counts)).reduce((sum, n) => sum + n, 0)
}

import type { TestContext } from 'node:test'
import { createKafkaSource } from '../../src/drivers/kafka/source.ts'
import { type TopicOptions, topic } from '../../src/drivers/kafka/topic.ts'
import type { Delivery, LogOptions, OpenOptions, SourceEvent, Subscription } from '../../src/ports/source.ts'
import { logOptions, MemoryCheckpoints } from '../../src/testing/memory-checkpoints.ts'
import { until } from '../../src/testing/until.ts'
import { openKafka, randomName, type TestKafka } from './fixture.ts'

/** One member of a group inside the test's process, with everything it was told. */
export interface Reader {
  readonly subscription: Subscription
  readonly events: SourceEvent[]
  readonly checkpoints: MemoryCheckpoints
  /** Receives until so many have come in all. */
  take(count: number): Promise<Delivery[]>
  /** Partitions it was told of and not told to be gone. */
  owned(): string[]
  untilOwns(count: number): Promise<void>
  close(): Promise<void>
}

/**
 * A cluster whose topics outlive the readers of them: a last commit to a deleted topic would be waited for.
 */
export interface Cluster extends TestKafka {
  readonly readers: Set<Subscription>
}

export async function openCluster(t: TestContext, address?: string): Promise<Cluster> {
  const readers = new Set<Subscription>()
  t.after(() => Promise.all([...readers].map(reader => reader.close())))
  return { ...(await openKafka(t, address)), readers }
}

export interface ReaderOptions extends TopicOptions {
  readonly open?: Partial<OpenOptions>
  readonly log?: Partial<LogOptions>
  readonly checkpoints?: MemoryCheckpoints
}

export async function openReader(
  kafka: Cluster,
  name: string,
  { open = {}, log = {}, checkpoints = new MemoryCheckpoints(), ...options }: ReaderOptions = {},
): Promise<Reader> {
  const events: SourceEvent[] = []
  const declaration = topic(name, {
    group: randomName('group'),
    start: 'earliest',
    sessionTimeoutMs: 6_000,
    ...options,
  })
  const subscription = await createKafkaSource(declaration, { bootstrap: kafka.bootstrap }).open({
    inFlightMax: 1_000,
    inFlightBytesMax: 64 * 1024 * 1024,
    onEvent: event => void events.push(event),
    log: logOptions({ checkpoints, ...log }),
    ...open,
  })
  kafka.readers.add(subscription)
  const owned = () => {
    const held = new Set<string>()
    for (const event of events) {
      if (event.kind === 'assigned') for (const partition of event.partitions) held.add(partition)
      if (event.kind === 'revoked') for (const partition of event.partitions) held.delete(partition)
    }
    return [...held].sort()
  }
  return {
    subscription,
    events,
    checkpoints,
    take: async count => {
      const taken: Delivery[] = []
      while (taken.length < count) taken.push(...(await subscription.receive(count - taken.length)))
      return taken
    },
    owned,
    untilOwns: count => until(`it owns ${count} partitions`, () => owned().length === count),
    close: () => subscription.close(),
  }
}

export const texts = (deliveries: readonly Delivery[]) => deliveries.map(({ body }) => body.toString())

export const numbered = (count: number, prefix = 'm') =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`)

/** Receives and settles until closed, keeping what it saw. */
export function consume(reader: Reader): string[] {
  const seen: string[] = []
  const run = async () => {
    for (;;) {
      const deliveries = await reader.subscription.receive(100)
      if (deliveries.length === 0) return
      seen.push(...deliveries.map(({ body }) => body.toString()))
      await reader.subscription.settle(deliveries)
    }
  }
  void run()
  return seen
}

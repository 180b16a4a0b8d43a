import { setTimeout as delay } from 'node:timers/promises'
import { createStreamSource, type StreamOptions, stream } from 'onceward/rabbitmq-stream'
import type { Publisher } from 'rabbitmq-stream-js-client'
import type { SourceEvent, Subscription } from '../../src/ports/source.ts'
import { logOptions, type MemoryCheckpoints } from '../../src/testing/memory-checkpoints.ts'
import { connectClient } from './broker.ts'

export interface Writer {
  /** Ids the broker has confirmed: each must be read, once. */
  readonly confirmed: ReadonlySet<string>
  stop(): Promise<void>
}

/**
 * Publishes to these streams in turn for as long as it is let, over every restart, by any node that answers.
 */
export function writeOn(urls: readonly string[], streams: readonly string[] = ['log']): Writer {
  const confirmed = new Set<string>()
  let stopped = false
  let next = 0
  const session = async (url: string) => {
    const client = await connectClient(url)
    try {
      const publishers = await Promise.all(
        streams.map(async name => {
          const publisher = await client.declarePublisher({ stream: name })
          return { publisher, ids: confirmedIds(publisher, confirmed) }
        }),
      )
      while (!stopped) {
        for (const { publisher, ids } of publishers) {
          // Drawn one by one: a session that was given up may go on beside the next one.
          for (let sent = 0; sent < 200; sent++) {
            const id = String(next++)
            ids.sent((await publisher.send(Buffer.from(id))).publishingId, id)
          }
          await publisher.flush()
        }
        await delay(50)
      }
    } finally {
      await Promise.race([client.close().catch(() => {}), delay(500)])
    }
  }
  const running = (async () => {
    for (let turn = 0; !stopped; turn++) {
      await Promise.race([
        session(urls[turn % urls.length]!).catch(() => {}),
        untilStuck(
          () => confirmed.size,
          () => stopped,
        ),
      ])
      await delay(100)
    }
  })()
  return {
    confirmed,
    stop: async () => {
      stopped = true
      await running
    },
  }
}

/** A confirmation may come before the client says under which number it has sent. */
function confirmedIds(publisher: Publisher, confirmed: Set<string>) {
  const sent = new Map<bigint, string>()
  const early = new Set<bigint>()
  publisher.on('publish_confirm', (_error, published) => {
    for (const number of published) {
      const id = sent.get(number)
      if (id === undefined) early.add(number)
      else confirmed.add(id)
    }
  })
  return {
    sent: (number: bigint, id: string) => {
      sent.set(number, id)
      if (early.delete(number)) confirmed.add(id)
    },
  }
}

/** The client never rejects what it sent to a broker that died. */
async function untilStuck(progress: () => number, isOver: () => boolean): Promise<void> {
  for (let before = -1; before !== progress() && !isOver(); ) {
    before = progress()
    await delay(2_000)
  }
}

export interface Reading {
  readonly seen: Set<string>
  readonly twice: string[]
  /** By partition, in the order in which they took effect. */
  readonly applied: Map<string, string[]>
}

export const newReading = (): Reading => ({ seen: new Set(), twice: [], applied: new Map() })

export interface Reader extends Reading {
  readonly subscription: Subscription
  readonly events: readonly SourceEvent[]
  /** What `receive` rejected with. */
  readonly failed: unknown
  /** Records that this one of the group has applied. */
  readonly count: number
  assigned(): number
}

/** Several readers of one group share `reading` and the checkpoints. */
export async function readOn(
  url: string,
  checkpoints: MemoryCheckpoints,
  reading: Reading = newReading(),
  options: StreamOptions & { readonly stream?: string } = {},
): Promise<Reader> {
  const events: SourceEvent[] = []
  const { stream: name = 'log', ...rest } = options
  const subscription = await createStreamSource(stream(name, { url, start: 'first', ...rest })).open({
    inFlightMax: 1_000,
    inFlightBytesMax: 8 * 1024 * 1024,
    onEvent: event => events.push(event),
    log: logOptions({ progress: 'only', checkpoints }),
  })
  const reader = {
    subscription,
    events,
    ...reading,
    failed: null as unknown,
    count: 0,
    assigned: () => events.filter(({ kind }) => kind === 'assigned').length,
  }
  void read(subscription, checkpoints, reader).catch(error => {
    reader.failed = error
  })
  return reader
}

/** As an engine under `dedup: 'checkpoint'`: the position moves with the effect, or neither happens. */
async function read(
  subscription: Subscription,
  checkpoints: MemoryCheckpoints,
  reader: Reading & { count: number },
): Promise<void> {
  const { seen, twice, applied } = reader
  for (;;) {
    const deliveries = await subscription.receive(100)
    if (deliveries.length === 0) return
    try {
      checkpoints.advance(subscription.log!.progressWith(deliveries, deliveries))
    } catch {
      continue
    }
    for (const { body, partition } of deliveries) {
      const id = body.toString()
      if (seen.has(id)) twice.push(id)
      seen.add(id)
      const before = applied.get(partition)
      if (before === undefined) applied.set(partition, [id])
      else before.push(id)
    }
    reader.count += deliveries.length
    await subscription.settle(deliveries)
  }
}

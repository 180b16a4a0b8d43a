import { setTimeout as delay } from 'node:timers/promises'
import { createStreamSource, type StreamOptions, stream } from 'onceward/rabbitmq-stream'
import type { SourceEvent, Subscription } from '../../src/contracts/source.ts'
import { logOptions, type MemoryCheckpoints } from '../../src/testing/memory-checkpoints.ts'
import { connectClient } from './broker.ts'

export interface Writer {
  /** Ids the broker has confirmed: each must be read, once. */
  readonly confirmed: ReadonlySet<string>
  stop(): Promise<void>
}

/** Publishes to these streams in turn for as long as it is let, over every restart, by any node that answers. */
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
          const ids = new Map<bigint, string>()
          publisher.on('publish_confirm', (_error, published) => {
            for (const id of published) confirmed.add(ids.get(id)!)
          })
          return { publisher, ids }
        }),
      )
      while (!stopped) {
        for (const { publisher, ids } of publishers) {
          // Drawn one by one: a session that was given up may go on beside the next one.
          for (let sent = 0; sent < 200; sent++) {
            const id = String(next++)
            ids.set((await publisher.send(Buffer.from(id))).publishingId, id)
          }
          await publisher.flush()
        }
        await delay(5)
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
}

export interface Reader extends Reading {
  readonly subscription: Subscription
  readonly events: readonly SourceEvent[]
  /** What `receive` rejected with. */
  readonly failed: unknown
  assigned(): number
}

/** Several readers of one group share `reading` and the checkpoints. */
export async function readOn(
  url: string,
  checkpoints: MemoryCheckpoints,
  { seen, twice }: Reading = { seen: new Set(), twice: [] },
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
    seen,
    twice,
    failed: null as unknown,
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
  { seen, twice }: Reading,
): Promise<void> {
  for (;;) {
    const deliveries = await subscription.receive(100)
    if (deliveries.length === 0) return
    try {
      checkpoints.advance(subscription.progressWith!(deliveries, deliveries))
    } catch {
      continue
    }
    for (const { body } of deliveries) {
      const id = body.toString()
      if (seen.has(id)) twice.push(id)
      seen.add(id)
    }
    await subscription.settle(deliveries)
  }
}

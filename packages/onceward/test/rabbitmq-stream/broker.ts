import { randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import { createStreamSource, type StreamOptions, stream } from 'onceward/rabbitmq-stream'
import { type Client, connect, type Publisher } from 'rabbitmq-stream-js-client'
import type { Delivery, LogOptions, OpenOptions, SourceEvent, Subscription } from '../../src/ports/source.ts'
import { logOptions } from '../../src/testing/memory-checkpoints.ts'
import { rabbitmqStreamUrl } from '../services/services.ts'

/**
 * A stream of a random name on the real broker, gone when the test ends, written by a client that is not
 * ours.
 */
export interface TestStream {
  readonly name: string
  readonly url: string
  readonly client: Client
  /** One chunk where they fit, confirmed. */
  send(...bodies: (string | Buffer)[]): Promise<void>
  sendWith(options: MessageOptions, ...bodies: (string | Buffer)[]): Promise<void>
  publishTo(name: string, bodies: readonly (string | Buffer)[], options?: MessageOptions): Promise<void>
  publisher(): Promise<Publisher>
  create(settings?: StreamSettings): Promise<void>
  delete(): Promise<void>
}

export type MessageOptions = NonNullable<Parameters<Publisher['send']>[1]>
export type StreamSettings = NonNullable<Parameters<Client['createStream']>[0]['arguments']>

export async function createTestStream(
  t: TestContext,
  { settings = {}, create = true }: { settings?: StreamSettings; create?: boolean } = {},
): Promise<TestStream> {
  const name = randomName()
  const url = await rabbitmqStreamUrl()
  const client = await connectClient(url!)
  const publishers = new Set<Publisher>()
  t.after(async () => {
    // Before the stream: the client never closes a publisher whose stream is gone.
    for (const { extendedId } of publishers) await client.deletePublisher(extendedId)
    await client.deleteStream({ stream: name }).catch(() => {})
    await client.close()
  })
  const publisherOf = async (to = name) => {
    const publisher = await client.declarePublisher({ stream: to })
    publishers.add(publisher)
    return publisher
  }
  const publishTo: TestStream['publishTo'] = async (to, bodies, options = {}) => {
    const publisher = await publisherOf(to)
    const confirmed = new Set<bigint>()
    let check = () => {}
    publisher.on('publish_confirm', (_error, ids) => {
      for (const id of ids) confirmed.add(id)
      check()
    })
    const sent: bigint[] = []
    for (const body of bodies) sent.push((await publisher.send(Buffer.from(body), options)).publishingId)
    await publisher.flush()
    await new Promise<void>(resolve => {
      check = () => {
        if (sent.every(id => confirmed.has(id))) resolve()
      }
      check()
    })
    publishers.delete(publisher)
    await client.deletePublisher(publisher.extendedId)
  }
  const made: TestStream = {
    name,
    url: url!,
    client,
    send: (...bodies) => publishTo(name, bodies),
    sendWith: (options, ...bodies) => publishTo(name, bodies, options),
    publishTo,
    publisher: publisherOf,
    create: async (given = settings) => void (await client.createStream({ stream: name, arguments: given })),
    delete: async () => void (await client.deleteStream({ stream: name })),
  }
  if (create) await made.create()
  return made
}

export async function connectClient(url: string): Promise<Client> {
  const { hostname, port, username, password } = new URL(url)
  return connect({ hostname, port: Number(port), username, password, vhost: '/' })
}

export function randomName(): string {
  return `test-${randomBytes(6).toString('hex')}`
}

/** A subscription, its events, and ways to wait for them. Closed when the test ends. */
export interface Opened {
  readonly subscription: Subscription
  readonly events: readonly SourceEvent[]
  event(kind: SourceEvent['kind'], count?: number): Promise<SourceEvent>
  /** Receives until there are `count`. */
  take(count: number): Promise<Delivery[]>
}

export async function openStream(
  t: TestContext,
  name: string,
  options: StreamOptions,
  given: Partial<Omit<OpenOptions, 'log'>> & { log?: Partial<LogOptions>; keptBytesMax?: number } = {},
): Promise<Opened> {
  const events: SourceEvent[] = []
  const waiting = new Set<() => void>()
  const { log, keptBytesMax, ...limits } = given
  const source = createStreamSource(stream(name, options), {
    url: (await rabbitmqStreamUrl())!,
    ...(keptBytesMax !== undefined && { keptBytesMax }),
  })
  const subscription = await source.open({
    inFlightMax: 10_000,
    inFlightBytesMax: 64 * 1024 * 1024,
    onEvent: event => {
      events.push(event)
      for (const check of waiting) check()
    },
    log: logOptions(log),
    ...limits,
  })
  t.after(() => subscription.close())
  return {
    subscription,
    events,
    event: (kind, count = 1) =>
      new Promise(resolve => {
        const check = () => {
          const found = events.filter(event => event.kind === kind)[count - 1]
          if (found === undefined) return
          waiting.delete(check)
          resolve(found)
        }
        waiting.add(check)
        check()
      }),
    take: async count => {
      const taken: Delivery[] = []
      while (taken.length < count) {
        const deliveries = await subscription.receive(count - taken.length)
        if (deliveries.length === 0) throw new Error(`closed with ${taken.length} of ${count} taken`)
        taken.push(...deliveries)
      }
      return taken
    },
  }
}

export const text = (deliveries: readonly Delivery[]) => deliveries.map(({ body }) => body.toString())

export const numbers = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => String(from + index))

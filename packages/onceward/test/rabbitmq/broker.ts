import { randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import { type Channel, connect } from 'amqplib'
import { createRabbitSource, type QueueOptions, queue } from '../../src/drivers/rabbitmq/index.ts'
import type { Delivery, QueueOpenOptions, SourceEvent, Subscription } from '../../src/ports/source.ts'
import { rabbitmqManagementUrl, rabbitmqUrl } from '../services/services.ts'

/**
 * A queue of a random name on the real broker, gone when the test ends, and a channel to look at it from
 * outside.
 */
export interface TestQueue {
  readonly name: string
  readonly url: string
  readonly channel: Channel
  send(...bodies: (string | Buffer)[]): Promise<void>
  /** Ready messages, by a passive declare. */
  ready(): Promise<number>
  delete(): Promise<void>
}

export async function createTestQueue(t: TestContext, name = randomName()): Promise<TestQueue> {
  const url = await rabbitmqUrl()
  const model = await connect(url)
  const channel = await model.createConfirmChannel()
  channel.on('error', () => {})
  model.on('error', () => {})
  t.after(async () => {
    const last = await model.createChannel()
    await last.deleteQueue(name)
    await model.close()
  })
  return {
    name,
    url,
    channel,
    send: async (...bodies) => {
      for (const body of bodies) channel.sendToQueue(name, Buffer.from(body), { persistent: true })
      await channel.waitForConfirms()
    },
    ready: async () => (await channel.checkQueue(name)).messageCount,
    delete: async () => void (await channel.deleteQueue(name)),
  }
}

export function randomName(): string {
  return `test.${randomBytes(6).toString('hex')}`
}

/** A subscription, its events, and ways to wait for them. Closed when the test ends. */
export interface Opened {
  readonly subscription: Subscription
  readonly events: readonly SourceEvent[]
  event(kind: SourceEvent['kind'], count?: number): Promise<SourceEvent>
  /** Receives until there are `count`. */
  take(count: number): Promise<Delivery[]>
}

export async function openQueue(
  t: TestContext,
  name: string,
  options: QueueOptions,
  limits: Partial<QueueOpenOptions> = {},
): Promise<Opened> {
  const events: SourceEvent[] = []
  const waiting = new Set<() => void>()
  const source = createRabbitSource(queue(name, options))
  const subscription = await source.open({
    inFlightMax: 100,
    inFlightBytesMax: 64 * 1024 * 1024,
    onEvent: event => {
      events.push(event)
      for (const check of waiting) check()
    },
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

/** Asks again, as fast as the answer comes, until `holds`; fails after a minute with what was last seen. */
export async function until<T>(ask: () => Promise<T> | T, holds: (value: T) => boolean): Promise<T> {
  const deadline = Date.now() + 60_000
  for (;;) {
    const value = await ask()
    if (holds(value)) return value
    if (Date.now() > deadline) throw new Error(`still ${JSON.stringify(value)}`)
    await new Promise(resolve => setImmediate(resolve))
  }
}

/** A GET, PUT or DELETE on the management API. */
export async function manage(method: string, path: string, body?: unknown): Promise<unknown> {
  const url = new URL(`${(await rabbitmqManagementUrl())!}/api/${path}`)
  const authorization = `Basic ${Buffer.from(`${url.username}:${url.password}`).toString('base64')}`
  url.username = ''
  url.password = ''
  const init = { method, headers: { authorization, 'content-type': 'application/json' } }
  const response = await fetch(url, body === undefined ? init : { ...init, body: JSON.stringify(body) })
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
  return response.status === 200 ? response.json() : null
}

export const text = (deliveries: readonly Delivery[]) => deliveries.map(({ body }) => body.toString())

import type { TestContext } from 'node:test'
import amqp, { type ConfirmChannel } from 'amqplib'
import { rabbitmqUrl } from '../services/services.ts'
import { manage, randomName } from './broker.ts'

/** A virtual host of the test's own on the shared broker, gone when the test ends. */
export interface TestVirtualHost {
  readonly name: string
  readonly url: string
  readonly channel: ConfirmChannel
  /** Bodies of everything that is ready, taken out. */
  takeAll(queue: string): Promise<string[]>
  depth(queue: string): Promise<number>
}

export const quorum = { durable: true, arguments: { 'x-queue-type': 'quorum', 'x-delivery-limit': -1 } }

export async function createVirtualHost(t: TestContext): Promise<TestVirtualHost> {
  const name = randomName()
  const url = new URL(await rabbitmqUrl())
  const user = decodeURIComponent(url.username || 'guest')
  await manage('PUT', `vhosts/${name}`, {})
  await manage('PUT', `permissions/${name}/${user}`, { configure: '.*', write: '.*', read: '.*' })
  url.pathname = `/${name}`
  const connection = await amqp.connect(url.href)
  const channel = await connection.createConfirmChannel()
  t.after(async () => {
    await connection.close()
    await manage('DELETE', `vhosts/${name}`)
  })
  return {
    name,
    url: url.href,
    channel,
    depth: async queue => (await channel.checkQueue(queue)).messageCount,
    async takeAll(queue) {
      const bodies: string[] = []
      for (;;) {
        const got = await channel.get(queue, { noAck: true })
        if (got === false) return bodies
        bodies.push(got.content.toString())
      }
    },
  }
}

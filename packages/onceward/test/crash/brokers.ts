import { randomBytes } from 'node:crypto'
import amqp from 'amqplib'
import type { SourceDeclaration } from 'onceward'
import { createPool, createQueue, postgresQueue, publish } from 'onceward/postgres'
import { queue } from 'onceward/rabbitmq'
import { stream } from 'onceward/rabbitmq-stream'
import { countFrom, openWatch, positionOf } from '../rabbitmq-stream/outside.ts'
import { rabbitmqStreamUrl } from '../services/services.ts'
import { consumerName, type Produced } from './workload.ts'

export type BrokerKind = 'postgres' | 'rabbitmq' | 'rabbitmq-stream'

/** A queue on a real broker, seen from outside the engine. */
export interface TestBroker {
  readonly declaration: SourceDeclaration
  readonly deadLetter: string
  publish(messages: readonly Produced[]): Promise<void>
  /** Messages not settled; meaningful once no consumer is connected. */
  depth(): Promise<number>
  /** Message ids of the copies in the dead-letter queue. */
  deadLetters(): Promise<string[]>
  close(): Promise<void>
}

export async function createBroker(
  kind: BrokerKind,
  urls: { postgres: string; rabbitmq: string },
): Promise<TestBroker> {
  const name = `crash.${randomBytes(6).toString('hex')}`
  if (kind === 'postgres') return postgresBroker(name, urls.postgres)
  return kind === 'rabbitmq' ? rabbitBroker(name, urls.rabbitmq) : streamBroker(name, urls.rabbitmq)
}

async function postgresBroker(name: string, url: string): Promise<TestBroker> {
  const pool = createPool(url, { max: 2 })
  const deadLetter = `${name}.dead`
  await createQueue(pool, name)
  await createQueue(pool, deadLetter)
  const messagesOf = async (queueName: string) => {
    const { rows } = await pool.query(
      `select message_id from onceward.queue_message join onceward.queue on queue.id = queue_id where name = $1`,
      [queueName],
    )
    return rows.map(row => row.message_id as string)
  }
  return {
    declaration: postgresQueue(name, { leaseMs: 1_500 }),
    deadLetter,
    publish: async messages =>
      void (await publish(
        pool,
        name,
        messages.map(({ body }) => ({ body })),
      )),
    depth: async () => (await messagesOf(name)).length,
    deadLetters: () => messagesOf(deadLetter),
    close: () => pool.end(),
  }
}

/** A connection per question: the server may be killed between two of them. */
async function ask<T>(url: string, question: (channel: amqp.ConfirmChannel) => Promise<T>): Promise<T> {
  const connection = await amqp.connect(url)
  try {
    return await question(await connection.createConfirmChannel())
  } finally {
    await connection.close()
  }
}

/** The queue's copies, through AMQP; what differs is how the messages are kept. */
async function overAmqp(name: string, url: string, options: amqp.Options.AssertQueue) {
  const deadLetter = `${name}.dead`
  await ask(url, channel => channel.assertQueue(name, options))
  return {
    deadLetter,
    publish: (messages: readonly Produced[]) =>
      ask(url, async channel => {
        for (const { body } of messages) channel.sendToQueue(name, Buffer.from(body), { persistent: true })
        await channel.waitForConfirms()
      }),
    deadLetters: () =>
      ask(url, async channel => {
        const ids: string[] = []
        for (;;) {
          const message = await channel.get(deadLetter, { noAck: true })
          if (message === false) return ids
          ids.push(message.properties.messageId as string)
        }
      }),
    close: () =>
      ask(url, async channel => {
        await channel.deleteQueue(name)
        await channel.deleteQueue(deadLetter)
      }),
  }
}

async function rabbitBroker(name: string, url: string): Promise<TestBroker> {
  const options = { durable: true, arguments: { 'x-queue-type': 'quorum', 'x-delivery-limit': -1 } }
  return {
    ...(await overAmqp(name, url, options)),
    declaration: queue(name),
    depth: () => ask(url, async channel => (await channel.checkQueue(name)).messageCount),
  }
}

async function streamBroker(name: string, url: string): Promise<TestBroker> {
  const streamUrl = (await rabbitmqStreamUrl())!
  const options = { durable: true, arguments: { 'x-queue-type': 'stream' } }
  return {
    ...(await overAmqp(name, url, options)),
    declaration: stream(name, { url: streamUrl, start: 'first' }),
    depth: async () => {
      const watch = await openWatch(streamUrl)
      try {
        return await countFrom(watch, name, Number((await positionOf(watch, consumerName, name)) ?? 0))
      } finally {
        watch.destroy('asked')
      }
    },
  }
}

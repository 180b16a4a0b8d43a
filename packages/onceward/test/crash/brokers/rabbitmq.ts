import amqp from 'amqplib'
import { queue } from 'onceward/rabbitmq'
import type { TestBroker } from '../brokers.ts'
import type { Produced } from '../workload.ts'

/** A connection per question: the server may be killed between two of them. */
export async function askRabbit<T>(
  url: string,
  question: (channel: amqp.ConfirmChannel) => Promise<T>,
): Promise<T> {
  const connection = await amqp.connect(url)
  try {
    return await question(await connection.createConfirmChannel())
  } finally {
    await connection.close()
  }
}

export function sendToRabbit(url: string, name: string, messages: readonly Produced[]): Promise<void> {
  return askRabbit(url, async channel => {
    for (const { body } of messages) channel.sendToQueue(name, Buffer.from(body), { persistent: true })
    await channel.waitForConfirms()
  })
}

export function takeMessageIds(url: string, name: string): Promise<string[]> {
  return askRabbit(url, async channel => {
    const ids: string[] = []
    for (;;) {
      const message = await channel.get(name, { noAck: true })
      if (message === false) return ids
      ids.push(message.properties.messageId as string)
    }
  })
}

export async function rabbitBroker(name: string, url: string): Promise<TestBroker> {
  const deadLetter = `${name}.dead`
  const options = { durable: true, arguments: { 'x-queue-type': 'quorum', 'x-delivery-limit': -1 } }
  await askRabbit(url, channel => channel.assertQueue(name, options))
  await askRabbit(url, channel => channel.assertQueue(`${name}.out`, { durable: true }))
  return {
    declaration: queue(name),
    deadLetter,
    target: { broker: 'rabbitmq', queue: `${name}.out` },
    published: () => takeMessageIds(url, `${name}.out`),
    log: null,
    publish: messages => sendToRabbit(url, name, messages),
    depth: () => askRabbit(url, async channel => (await channel.checkQueue(name)).messageCount),
    deadLetters: () => takeMessageIds(url, deadLetter),
    close: () =>
      askRabbit(url, async channel => {
        await channel.deleteQueue(name)
        await channel.deleteQueue(deadLetter)
        await channel.deleteQueue(`${name}.out`)
      }),
  }
}

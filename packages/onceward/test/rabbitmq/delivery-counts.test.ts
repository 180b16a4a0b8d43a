import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type ConsumeMessage, connect } from 'amqplib'
import { until } from 'onceward/testing'
import { skipWithout } from '../services/services.ts'
import { createTestQueue, openQueue } from './broker.ts'

/** How the message returns, and whether it counts toward the limit up to RabbitMQ 4.2, and from 4.3 on. */
const ways = [
  { how: 'the end of its connection', counts: [true, true] },
  { how: 'a rejection', counts: [true, true] },
  { how: 'a negative acknowledgement', counts: [true, false] },
] as const

describe('deliveries of a quorum queue', await skipWithout('rabbitmq'), () => {
  for (const { how, counts } of ways)
    it(`${how} is counted as this broker does, and every delivery counts for us`, async t => {
      const queue = await createTestQueue(t)
      await queue.channel.assertQueue(queue.name, {
        durable: true,
        arguments: { 'x-queue-type': 'quorum', 'x-delivery-limit': -1 },
      })
      await queue.send('a')
      let isNew = false
      for (let round = 0; round < 2; round++) isNew = await handBack(queue.url, queue.name, how)
      const { take, subscription } = await openQueue(t, queue.name, { url: queue.url, declare: 'verify' })
      const [delivery] = await take(1)
      assert.equal(delivery!.deliveryCount, 2)
      const failed = delivery!.headers['x-delivery-count'] ?? 0
      assert.equal(Number(failed) > 0, counts[isNew ? 1 : 0])
      assert.equal('x-acquired-count' in delivery!.headers, isNew)
      await subscription.settle([delivery!])
    })
})

/** True on a broker from 4.3 on. */
async function handBack(url: string, name: string, how: (typeof ways)[number]['how']): Promise<boolean> {
  const model = await connect(url)
  const channel = await model.createChannel()
  const taken: ConsumeMessage[] = []
  await channel.prefetch(1)
  const { consumerTag } = await channel.consume(name, message => void taken.push(message!))
  await until('it is delivered', () => taken.length === 1)
  await channel.cancel(consumerTag)
  if (how === 'a rejection') channel.reject(taken[0]!, true)
  if (how === 'a negative acknowledgement') channel.nack(taken[0]!, false, true)
  // The end of the connection could overtake the answer.
  await channel.close()
  const { version } = model.connection.serverProperties as { version: string }
  await model.close()
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major > 4 || (major === 4 && minor >= 3)
}

import { stream } from 'onceward/rabbitmq-stream'
import { openWatch, positionOf } from '../../rabbitmq-stream/outside.ts'
import type { BrokerUrls, LoggedRecord, TestBroker } from '../brokers.ts'
import { unread } from '../positions.ts'
import { consumerName } from '../workload.ts'
import { askRabbit, sendToRabbit, takeMessageIds } from './rabbitmq.ts'

/**
 * Publish once, before anybody reads: an offset that a reader stores is a record of the stream itself, so
 * only until then are offsets the numbers of the messages.
 */
export async function streamBroker(name: string, urls: BrokerUrls): Promise<TestBroker> {
  const deadLetter = `${name}.dead`
  const options = { durable: true, arguments: { 'x-queue-type': 'stream' } }
  await askRabbit(urls.rabbitmq, channel => channel.assertQueue(name, options))
  await askRabbit(urls.rabbitmq, channel => channel.assertQueue(`${name}.out`, { durable: true }))
  let watch = await openWatch(urls.stream)
  const records: LoggedRecord[] = []
  const told = async () => {
    // The server may have been killed since the last question.
    if (!watch.live) watch = await openWatch(urls.stream)
    const next = await positionOf(watch, consumerName, name)
    return new Map(next === null ? [] : [[name, Number(next)]])
  }
  return {
    declaration: stream(name, { start: 'first' }),
    deadLetter,
    target: { broker: 'rabbitmq', queue: `${name}.out` },
    published: () => takeMessageIds(urls.rabbitmq, `${name}.out`),
    log: { records, told },
    publish: async messages => {
      await sendToRabbit(urls.rabbitmq, name, messages)
      for (const produced of messages) records.push({ partition: name, offset: records.length, produced })
    },
    depth: async () => unread(records, await told()).length,
    deadLetters: () => takeMessageIds(urls.rabbitmq, deadLetter),
    async close() {
      watch.destroy('the test is over')
      await askRabbit(urls.rabbitmq, async channel => {
        await channel.deleteQueue(name)
        await channel.deleteQueue(deadLetter)
        await channel.deleteQueue(`${name}.out`)
      })
    },
  }
}

import { randomBytes } from 'node:crypto'
import amqp from 'amqplib'
import { createStreamSource, stream } from 'onceward/rabbitmq-stream'
import type { PublishedMessage, SourceFactory } from 'onceward/testing'
import { readAddress } from '../../src/sources/rabbitmq-stream/address.ts'
import { eachRecord, readChunk } from '../../src/sources/rabbitmq-stream/wire/chunk.ts'
import { queryOffset, queryStats, subscribe, unsubscribe } from '../../src/sources/rabbitmq-stream/wire/commands.ts'
import type { StreamConnection } from '../../src/sources/rabbitmq-stream/wire/connection.ts'
import { openLink } from '../../src/sources/rabbitmq-stream/wire/handshake.ts'
import { connectClient } from '../rabbitmq-stream/broker.ts'
import { rabbitmqStreamUrl, rabbitmqUrl, skipWithout } from '../services/services.ts'
import { openCuttableLink } from './cuttable-link.ts'

/** A super stream of three, each partition behind an exchange of its own, so that a record's key is its routing key. */
export async function rabbitStreamSource(): Promise<SourceFactory> {
  const { skip } = await skipWithout('rabbitmq')
  if (skip !== undefined) return { unavailable: skip, create: () => Promise.reject(new Error(skip)) }
  const [url, amqpUrl] = [(await rabbitmqStreamUrl())!, await rabbitmqUrl()]
  return {
    without: {
      'expiring records':
        'a stream drops whole segments, not a number of records; test/rabbitmq-stream/loss.test.ts has it',
      'forgotten positions': 'RabbitMQ forgets a stored offset only together with the records it points to',
    },
    async create() {
      const name = `conformance-${randomBytes(6).toString('hex')}`
      const partitions = [0, 1, 2].map(index => `${name}-${index}`)
      const link = await openCuttableLink(url)
      const client = await connectClient(url)
      const { connection } = await openLink(readAddress(url, name), 'watches')
      const broker = await amqp.connect(amqpUrl)
      const channel = await broker.createConfirmChannel()
      const make = async () => {
        await client.createSuperStream({ streamName: name, arguments: {} }, undefined, partitions.length)
        for (const partition of partitions) {
          await channel.assertExchange(partition, 'topic', { durable: false })
          await channel.bindQueue(partition, partition, '#')
        }
      }
      await make()
      const create = () =>
        createStreamSource(stream(name, { superStream: true, start: 'first' }), { url: link.url })
      return {
        source: create(),
        another: create,
        partitions,
        async publish(messages) {
          for (const message of messages) {
            const partition = partitions[message.partition ?? partitionOf(message.key ?? '')]!
            channel.publish(partition, message.key ?? 'none', message.body, optionsOf(message))
          }
          await channel.waitForConfirms()
        },
        countFrom: (partition, cursor) => countFrom(connection, partition, Number(cursor ?? 0)),
        async committed(partition, { name: consumer, generation }) {
          const group = generation === 1 ? consumer : `${consumer}-${generation}`
          const offset = await queryOffset(connection, group, partition)
          return offset === null ? null : String(offset + 1n)
        },
        async recreate() {
          await client.deleteSuperStream({ streamName: name })
          await make()
        },
        disconnect: async () => link.cut(),
        async close() {
          await client.deleteSuperStream({ streamName: name })
          await client.close()
          connection.destroy('done')
          for (const partition of partitions) await channel.deleteExchange(partition)
          await broker.close()
          await link.close()
        },
      }
    },
  }
}

function partitionOf(key: string): number {
  let sum = 0
  for (const byte of Buffer.from(key)) sum = (sum + byte) % 3
  return sum
}

/** Reads to the end: what is there at once is sent before the next command is answered. */
async function countFrom(connection: StreamConnection, name: string, from: number): Promise<number> {
  let count = 0
  const id = await subscribe(
    connection,
    { stream: name, from: 'first', credit: 60_000 },
    {
      onChunk: (frame, at) => {
        const chunk = readChunk(frame, at)
        if (chunk !== null) eachRecord(chunk, from, () => count++)
      },
      onActive: (_active, answer) => answer(null),
    },
  )
  await queryStats(connection, name)
  await unsubscribe(connection, id)
  return count
}

function optionsOf({ headers = {}, properties = {} }: PublishedMessage): amqp.Options.Publish {
  const { timestampMs, ...rest } = properties
  return {
    persistent: true,
    headers,
    ...rest,
    ...(timestampMs !== undefined && { timestamp: timestampMs / 1_000 }),
  }
}

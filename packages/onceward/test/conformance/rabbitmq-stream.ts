import { randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import amqp from 'amqplib'
import { createStreamSource, stream } from 'onceward/rabbitmq-stream'
import {
  logOptions,
  type PublishedMessage,
  type RangeReaderFactory,
  type SourceFactory,
} from 'onceward/testing'
import { StreamRangeReader } from '../../src/drivers/rabbitmq-stream/stream-range-reader.ts'
import { connectClient } from '../rabbitmq-stream/broker.ts'
import { countFrom, openWatch, positionOf } from '../rabbitmq-stream/outside.ts'
import { startRecoveringBroker } from '../rabbitmq-stream/recovering-broker.ts'
import { rabbitmqStreamUrl, rabbitmqUrl, skipWithout } from '../services/services.ts'
import { openCuttableLink } from './cuttable-link.ts'

/**
 * A super stream of three, each partition behind an exchange of its own, so that a record's key is its
 * routing key.
 */
export async function rabbitStreamSource(): Promise<SourceFactory> {
  const { skip } = await skipWithout('rabbitmq')
  if (skip !== undefined) return { unavailable: skip, create: () => Promise.reject(new Error(skip)) }
  const [url, amqpUrl] = [(await rabbitmqStreamUrl())!, await rabbitmqUrl()]
  return {
    without: {
      'nested headers':
        'RabbitMQ leaves tables out where it makes AMQP 1.0 of headers; wire.test.ts has them',
      'expiring records':
        'a stream drops whole segments, not a number of records; test/rabbitmq-stream/loss.test.ts has it',
      'forgotten positions': 'RabbitMQ forgets a stored offset only together with the records it points to',
    },
    async create() {
      const name = `conformance-${randomBytes(6).toString('hex')}`
      const partitions = [0, 1, 2].map(index => `${name}-${index}`)
      const hooks: (() => unknown)[] = []
      const scope = { after: (hook: () => unknown) => void hooks.push(hook) } as unknown as TestContext
      const recovering = await startRecoveringBroker(scope, url)
      const link = await openCuttableLink(recovering.url)
      const client = await connectClient(url)
      const watch = await openWatch(url)
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
        countFrom: (partition, cursor) => countFrom(watch, partition, Number(cursor ?? 0)),
        committed: (partition, { name: consumer, generation }) =>
          positionOf(watch, generation === 1 ? consumer : `${consumer}-${generation}`, partition),
        async hideRecords() {
          recovering.recover(2, Number.POSITIVE_INFINITY, { shorter: true })
          return async () => recovering.recovered()
        },
        async recreate() {
          await client.deleteSuperStream({ streamName: name })
          await make()
        },
        disconnect: async () => link.cut(),
        async close() {
          await client.deleteSuperStream({ streamName: name })
          await client.close()
          watch.destroy('done')
          for (const partition of partitions) await channel.deleteExchange(partition)
          await broker.close()
          await link.close()
          for (const hook of hooks) hook()
        },
      }
    },
  }
}

export async function streamRanges(): Promise<RangeReaderFactory> {
  const { unavailable, create, without } = await rabbitStreamSource()
  if (unavailable !== undefined) return { unavailable, create: () => Promise.reject(new Error(unavailable)) }
  const url = (await rabbitmqStreamUrl())!
  return {
    without: { 'expiring records': without!['expiring records']! },
    async create() {
      const log = await create({ keyOrder: false })
      const partitions = log.partitions!
      const name = partitions[0]!.replace(/-0$/, '')
      const group = logOptions().consumer.name
      return {
        ...log,
        partitions,
        openReader: () => new StreamRangeReader({ stream: name, superStream: true, url, group }),
        edgeOf: partition => partition,
      }
    },
  }
}

function partitionOf(key: string): number {
  let sum = 0
  for (const byte of Buffer.from(key)) sum = (sum + byte) % 3
  return sum
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

import { randomBytes } from 'node:crypto'
import amqp from 'amqplib'
import { createRabbitSource, queue } from 'onceward/rabbitmq'
import type { PublishedMessage, PublisherFactory, SourceFactory } from 'onceward/testing'
import { openRabbitPublisher } from '../../src/runtime/open-publisher.ts'
import { rabbitmqUrl, skipWithout } from '../services/services.ts'
import { openCuttableLink } from './cuttable-link.ts'

/** The queue of the suite by its name, as the relay publishes. */
export async function rabbitPublisher(): Promise<PublisherFactory> {
  const { unavailable, create } = await rabbitSource()
  if (unavailable !== undefined) return { unavailable, create: () => Promise.reject(new Error(unavailable)) }
  const url = await rabbitmqUrl()
  return {
    without: {
      'message key': "a queue's routing key is its name; the key only orders",
      'size limit': 'max_message_size of a broker is 16 MiB or more',
    },
    async create() {
      const destination = await create({ keyOrder: false })
      const link = await openCuttableLink(url)
      const name = destination.source.name.split(' ').at(-1)!
      return {
        publisher: await openRabbitPublisher(link.url, async () => {}),
        destination,
        place: { exchange: null, queue: name },
        unknown: { exchange: null, queue: `${name}.none` },
        disconnect: async () => link.cut(),
        close: () => link.close(),
      }
    },
  }
}

/** A quorum queue behind a topic exchange, so that a message's key is its routing key. */
export async function rabbitSource(): Promise<SourceFactory> {
  const { skip } = await skipWithout('rabbitmq')
  if (skip !== undefined) return { unavailable: skip, create: () => Promise.reject(new Error(skip)) }
  const url = await rabbitmqUrl()
  return {
    async create({ keyOrder }) {
      const name = `conformance.${randomBytes(6).toString('hex')}`
      const link = await openCuttableLink(url)
      const connection = await amqp.connect(url)
      const channel = await connection.createConfirmChannel()
      await channel.assertExchange(name, 'topic', { durable: false, autoDelete: false })
      await channel.assertQueue(name, {
        durable: true,
        arguments: {
          'x-queue-type': 'quorum',
          'x-delivery-limit': -1,
          ...(keyOrder && { 'x-single-active-consumer': true }),
        },
      })
      await channel.bindQueue(name, name, '#')
      const declaration = queue(name, { singleActiveConsumer: keyOrder })
      const create = () => createRabbitSource(declaration, { url: link.url })
      return {
        source: create(),
        another: create,
        async publish(messages) {
          for (const message of messages) {
            channel.publish(name, message.key ?? 'none', message.body, optionsOf(message))
          }
          await channel.waitForConfirms()
        },
        remaining: async () => (await channel.checkQueue(name)).messageCount,
        disconnect: async () => link.cut(),
        async close() {
          await channel.deleteQueue(name)
          await channel.deleteExchange(name)
          await connection.close()
          await link.close()
        },
      }
    },
  }
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

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type ChannelModel, type ConsumeMessage, connect } from 'amqplib'
import { until } from 'onceward/testing'
import {
  type PrivateRabbitmq,
  skipWithoutPrivateRabbitmq,
  startPrivateRabbitmq,
} from '../services/private-rabbitmq.ts'
import { runElsewhere } from '../services/run-elsewhere.ts'

const files = [
  ...[
    'conformance/rabbitmq.test.ts',
    'rabbitmq/dead-letter-ingest.test.ts',
    'rabbitmq/delivery-counts.test.ts',
  ],
  'check/live-rabbitmq.test.ts',
]

/** What one node can show; other files have the clusters and the time-outs of 4.3. */
describe('RabbitMQ 4.3', { timeout: 900_000, ...(await skipWithoutPrivateRabbitmq('4.3')) }, () => {
  let broker: PrivateRabbitmq
  before(async () => {
    broker = await startPrivateRabbitmq({ version: '4.3' })
  })
  after(() => broker?.close())

  for (const file of files)
    it(`passes ${file}`, async () => {
      await runElsewhere(file, {
        ONCEWARD_RABBITMQ_URL: broker.url,
        ONCEWARD_RABBITMQ_MANAGEMENT_URL: broker.managementUrl,
        ONCEWARD_RABBITMQ_STREAM_URL: broker.streamUrl,
      })
    })

  for (const [type, order] of [
    ['all', 'bca'],
    ['failed', 'bca'],
    ['returned', 'abc'],
  ] as const)
    it(`delayed retry of type ${type} delivers ${order} after the process of a died`, async () => {
      assert.equal(await orderAfterDeath(broker, type), order)
    })
})

/** Three messages for the only active consumer, whose connection is cut while it has the first. */
async function orderAfterDeath({ url }: PrivateRabbitmq, type: string): Promise<string> {
  const queue = `delayed-${type}`
  const victim = await connect(url)
  victim.on('error', () => {})
  const channel = await victim.createConfirmChannel()
  channel.on('error', () => {})
  await channel.assertQueue(queue, {
    durable: true,
    arguments: {
      ...{ 'x-queue-type': 'quorum', 'x-delivery-limit': -1, 'x-single-active-consumer': true },
      ...{ 'x-delayed-retry-type': type, 'x-delayed-retry-min': 2_000, 'x-delayed-retry-max': 2_000 },
    },
  })
  for (const body of 'abc') channel.sendToQueue(queue, Buffer.from(body))
  await channel.waitForConfirms()
  const taken: ConsumeMessage[] = []
  await channel.prefetch(1)
  await channel.consume(queue, message => void taken.push(message!))
  await until('it has the first', () => taken.length === 1)
  cut(victim)
  const next = await connect(url)
  const reader = await next.createChannel()
  const order: string[] = []
  await reader.consume(queue, message => {
    order.push(message!.content.toString())
    reader.ack(message!)
  })
  await until('all arrived', () => order.length === 3)
  await next.close()
  return order.join('')
}

/** As the death of its process does. */
function cut({ connection }: ChannelModel): void {
  ;(connection as unknown as { stream: { destroy(): void } }).stream.destroy()
}

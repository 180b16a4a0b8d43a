import { readAddress } from '../../packages/onceward/src/drivers/rabbitmq-stream/address.ts'
import { lookAt } from '../../packages/onceward/src/drivers/rabbitmq-stream/extent.ts'
import { queryOffset } from '../../packages/onceward/src/drivers/rabbitmq-stream/wire/commands.ts'
import { openLink } from '../../packages/onceward/src/drivers/rabbitmq-stream/wire/handshake.ts'
import type { BrokerOfRun } from './demo-broker.ts'
import { consumerName } from './payment-capture.ts'
import type { DemoSettings } from './settings.ts'

const partitions = 2

/** The streams behind the super stream's name, as RabbitMQ names them. */
export function partitionsOf(superStream: string): string[] {
  return Array.from({ length: partitions }, (_, n) => `${superStream}-${n}`)
}

/**
 * A super stream, so both consumers have work: each partition has one of them as its active reader. AMQP
 * reports neither a stream's end nor a stored offset, so this uses the internals of the stream source.
 */
export async function streamOfRun(settings: DemoSettings): Promise<BrokerOfRun> {
  const { rabbitmqUrl, rabbitmqStreamUrl, queue, deadLetters } = settings
  const { connect } = await import('amqplib')
  const connection = await connect(rabbitmqUrl!)
  connection.on('error', () => {})
  const channel = await connection.createChannel()
  channel.on('error', () => {})
  const { connection: stream } = await openLink(readAddress(rabbitmqStreamUrl!, 'The demo'), 'demo')

  /** Stored offsets are records too, so the count may be too high; it is 0 only when nothing is left. */
  const behind = async (name: string) => {
    const known = await queryOffset(stream, consumerName, name)
    const newest = await lookAt(stream, name, 'last')
    const next = known === null ? 0 : Number(known) + 1
    return newest === null ? 0 : Math.max(0, newest.firstOffset + newest.records - next)
  }
  return {
    async prepare() {
      const marked = { durable: true, arguments: { 'x-super-stream': true } }
      await channel.assertExchange(queue, 'direct', marked)
      for (const [n, name] of partitionsOf(queue).entries()) {
        await channel.assertQueue(name, { durable: true, arguments: { 'x-queue-type': 'stream' } })
        await channel.bindQueue(name, queue, String(n), { 'x-stream-partition-order': n })
      }
    },
    async depth() {
      let sum = 0
      for (const name of partitionsOf(queue)) sum += await behind(name)
      return sum
    },
    deadLetterCopies: async () => (await channel.checkQueue(deadLetters)).messageCount,
    async remove() {
      stream.destroy('the demo has ended')
      for (const name of [...partitionsOf(queue), deadLetters])
        await channel.deleteQueue(name).catch(() => {})
      await channel.deleteExchange(queue).catch(() => {})
      await connection.close().catch(() => {})
    },
  }
}

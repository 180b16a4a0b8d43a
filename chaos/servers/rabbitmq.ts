import { randomBytes } from 'node:crypto'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import amqp, { type ConfirmChannel } from 'amqplib'
import { until } from '../../packages/onceward/src/testing/until.ts'
import { coordinatorIsStored } from '../../packages/onceward/test/rabbitmq-stream/coordinator.ts'
import {
  type PrivatePorts,
  prepareNode,
  privatePorts,
} from '../../packages/onceward/test/services/private-rabbitmq-node.ts'
import { installRabbitmqOnce } from '../../scripts/services/rabbitmq-root.ts'
import { partitionsOf } from '../processes/settings.ts'
import { type ChaosBroker, type Copy, idIn, type Names } from './broker.ts'
import { Link } from './link.ts'

const host = '127.0.0.1'

/** A RabbitMQ of this run. Streams advertise the port of the link, so that readers stay on it. */
export async function startRabbitmq(source: 'quorum' | 'stream'): Promise<ChaosBroker> {
  await installRabbitmqOnce('4.0', line => console.error(line))
  const folder = mkdtempSync(join(tmpdir(), 'onceward-rabbitmq-'))
  chmodSync(folder, 0o755)
  const [ports] = (await privatePorts(1)) as [PrivatePorts]
  const link = await Link.open([
    { host, port: ports.amqp },
    { host, port: ports.stream },
  ])
  const name = `onceward_chaos_${randomBytes(4).toString('hex')}`
  const configuration = [`stream.advertised_port = ${link.port(1)}`]
  const node = prepareNode({ name, folder, ports, configuration, plugins: [] })
  const onExit = () => node.abandon()
  process.on('exit', onExit)
  const close = async () => {
    process.off('exit', onExit)
    await node.kill()
    await link.close()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
  try {
    await node.start()
  } catch (error) {
    await close()
    throw error
  }
  const urls = (amqpPort: number, streamPort: number) => ({
    rabbitmqUrl: `amqp://guest:guest@${host}:${amqpPort}`,
    rabbitmqStreamUrl: source === 'stream' ? `rabbitmq-stream://guest:guest@${host}:${streamPort}` : null,
    kafkaBootstrap: null,
  })
  const ask = <T>(question: (channel: ConfirmChannel) => Promise<T>) => askOnce(node.url, question)
  return {
    inside: urls(link.port(0), link.port(1)),
    outside: urls(ports.amqp, link.port(1)),
    link,
    prepare: async names => {
      await ask(channel => declare(channel, names, source))
      // Killed before, RabbitMQ would start without the coordinator of its streams.
      if (source === 'stream')
        await until('the coordinator of streams is stored', () => coordinatorIsStored(folder))
    },
    async kill() {
      await node.kill()
      await node.start()
    },
    async freeze(ms) {
      node.freeze()
      await wait(ms)
      node.resume()
    },
    copies: name => ask(channel => takeAll(channel, name)),
    depth: async ({ source: queue }) =>
      source === 'stream' ? null : ask(async channel => (await channel.checkQueue(queue)).messageCount),
    logFiles: () => [join(folder, 'log', 'rabbit.log'), join(folder, 'server.log')],
    close,
  }
}

async function askOnce<T>(url: string, question: (channel: ConfirmChannel) => Promise<T>): Promise<T> {
  const connection = await amqp.connect(url)
  connection.on('error', () => {})
  try {
    const channel = await connection.createConfirmChannel()
    channel.on('error', () => {})
    return await question(channel)
  } finally {
    await connection.close().catch(() => {})
  }
}

async function declare(channel: ConfirmChannel, names: Names, source: 'quorum' | 'stream'): Promise<void> {
  const quorum = { 'x-queue-type': 'quorum', 'x-delivery-limit': -1 }
  await channel.assertQueue(names.output, { durable: true, arguments: quorum })
  if (source === 'quorum') {
    const single = { ...quorum, 'x-single-active-consumer': true }
    await channel.assertQueue(names.source, { durable: true, arguments: single })
    return
  }
  const marked = { durable: true, arguments: { 'x-super-stream': true } }
  await channel.assertExchange(names.source, 'direct', marked)
  for (const [n, name] of partitionsOf(names.source).entries()) {
    await channel.assertQueue(name, { durable: true, arguments: { 'x-queue-type': 'stream' } })
    await channel.bindQueue(name, names.source, String(n), { 'x-stream-partition-order': n })
  }
}

async function takeAll(channel: ConfirmChannel, queue: string): Promise<Copy[]> {
  const copies: Copy[] = []
  for (;;) {
    const message = await channel.get(queue, { noAck: true })
    if (message === false) return copies
    copies.push({ id: String(message.properties.messageId), of: idIn(message.content) })
  }
}

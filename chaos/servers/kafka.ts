import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Admin, Consumer, MessagesStreamModes } from '@platformatic/kafka'
import { kafkaNode, toText } from '../../packages/onceward/test/kafka/kafka-node.ts'
import { freePorts } from '../../packages/onceward/test/services/free-ports.ts'
import { formatStorage, installKafka } from '../../scripts/services/kafka.ts'
import { partitions } from '../processes/settings.ts'
import { type ChaosBroker, type Copy, idIn, type Names } from './broker.ts'
import { Link } from './link.ts'

const host = '127.0.0.1'

/** A Kafka of this run, whose second listener is advertised as the link: consumers stay on it. */
export async function startKafka(): Promise<ChaosBroker> {
  const java = await installKafka(line => console.error(line))
  const folder = mkdtempSync(join(tmpdir(), 'onceward-kafka-'))
  const [plain, controller, hurt] = (await freePorts(3)) as [number, number, number]
  const link = await Link.open([{ host, port: hurt }])
  const file = join(folder, 'server.properties')
  writeFileSync(
    file,
    toText(properties({ plain, controller, hurt, link: link.port() }, join(folder, 'data'))),
  )
  await formatStorage(java, file)
  const node = kafkaNode(java, { file, folder, port: plain })
  const close = async () => {
    await node.close()
    await link.close()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
  try {
    await node.start()
  } catch (error) {
    await close()
    throw error
  }
  const urls = (port: number) => ({
    rabbitmqUrl: null,
    rabbitmqStreamUrl: null,
    kafkaBootstrap: `${host}:${port}`,
  })
  return {
    inside: urls(link.port()),
    outside: urls(plain),
    link,
    prepare: names => createTopics(`${host}:${plain}`, names),
    async kill() {
      await node.kill()
      await node.start()
    },
    async freeze(ms) {
      node.freeze()
      await wait(ms)
      node.resume()
    },
    copies: name => readAll(`${host}:${plain}`, name),
    depth: async () => null,
    logFiles: () => [join(folder, 'server.log')],
    close,
  }
}

type Ports = Readonly<Record<'plain' | 'controller' | 'hurt' | 'link', number>>

const properties = ({ plain, controller, hurt, link }: Ports, data: string) => ({
  'process.roles': 'broker,controller',
  'node.id': '1',
  'controller.quorum.bootstrap.servers': `${host}:${controller}`,
  listeners: `PLAINTEXT://${host}:${plain},HURT://${host}:${hurt},CONTROLLER://${host}:${controller}`,
  'advertised.listeners': `PLAINTEXT://${host}:${plain},HURT://${host}:${link}`,
  'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,HURT:PLAINTEXT,CONTROLLER:PLAINTEXT',
  'controller.listener.names': 'CONTROLLER',
  'inter.broker.listener.name': 'PLAINTEXT',
  'log.dirs': data,
  'offsets.topic.replication.factor': '1',
  'offsets.topic.num.partitions': '2',
  'transaction.state.log.replication.factor': '1',
  'transaction.state.log.min.isr': '1',
  'transaction.state.log.num.partitions': '2',
  'share.coordinator.state.topic.replication.factor': '1',
  'share.coordinator.state.topic.min.isr': '1',
  'group.initial.rebalance.delay.ms': '0',
  'auto.create.topics.enable': 'false',
})

const client = (bootstrap: string) => ({ clientId: 'chaos', bootstrapBrokers: [bootstrap], retries: 20 })

async function createTopics(bootstrap: string, { source, output, deadLetters }: Names): Promise<void> {
  const admin = new Admin(client(bootstrap))
  try {
    await admin.createTopics({ topics: [source, output, deadLetters], partitions, replicas: 1 })
  } finally {
    await admin.close()
  }
}

/** By a reader of its own: from the first record to the present end. */
async function readAll(bootstrap: string, topic: string): Promise<Copy[]> {
  const admin = new Admin(client(bootstrap))
  const asked = Array.from({ length: partitions }, (_, partitionIndex) => ({
    partitionIndex,
    timestamp: -1n,
  }))
  const [ends] = await admin.listOffsets({ topics: [{ name: topic, partitions: asked }] })
  await admin.close()
  const missing = new Map(ends!.partitions.map(one => [one.partitionIndex, Number(one.offset)]))
  for (const [partition, end] of missing) if (end === 0) missing.delete(partition)
  if (missing.size === 0) return []
  const consumer = new Consumer({ ...client(bootstrap), groupId: `reader-${Date.now()}` })
  const copies: Copy[] = []
  const stream = await consumer.consume({
    topics: [topic],
    mode: MessagesStreamModes.EARLIEST,
    autocommit: false,
  })
  for await (const { partition, offset, value, headers } of stream) {
    copies.push({ id: headerOf(headers, 'message-id'), of: idIn(value) })
    if (Number(offset) + 1 >= missing.get(partition)!) missing.delete(partition)
    if (missing.size === 0) break
  }
  await stream.close().catch(() => {})
  await consumer.close(true).catch(() => {})
  return copies
}

function headerOf(headers: ReadonlyMap<Buffer, Buffer>, name: string): string {
  for (const [key, value] of headers) if (key.toString() === name) return value.toString()
  return ''
}

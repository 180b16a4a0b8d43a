import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { metadataV12 } from '@platformatic/kafka'
import { formatStorage, installKafka, kafkaId } from '../../../../scripts/services/kafka.ts'
import { KafkaConnections } from '../../src/drivers/kafka/client/connections.ts'
import { until } from '../../src/testing/until.ts'
import { freePorts } from '../services/free-ports.ts'
import { type Certificates, makeCertificates } from './certificates.ts'
import { kafkaNode, toText } from './kafka-node.ts'

/** Three nodes, each broker and controller, on ports and in folders of their own. Node ids are 1 to 3. */
export interface KafkaCluster {
  readonly bootstrap: string
  /** Only with `secure`: TLS with a login. */
  readonly secured: string
  readonly certificates: Certificates | null
  readonly connections: KafkaConnections
  /** kill -9. */
  kill(node: number): Promise<void>
  /** SIGTERM: leaderships move before it exits. */
  stop(node: number): Promise<void>
  freeze(node: number): void
  resume(node: number): void
  /** On the same data and ports; resolves when it answers. */
  start(node: number): Promise<void>
  leaderOf(topic: string, partition: number): Promise<number>
  /** Its nodes, the leader first. */
  replicasOf(topic: string, partition: number): Promise<number[]>
  coordinatorOf(group: string): Promise<number>
  /** Every partition of the topic has so many replicas in sync, by default all three. */
  untilInSync(topic: string, replicas?: number): Promise<void>
  close(): Promise<void>
}

/** A topic that one node may be missing from. */
export const replicated = { replicas: 3, configs: { 'min.insync.replicas': '2' } } as const

const nodes = [1, 2, 3]

export async function startKafkaCluster(
  properties: Readonly<Record<string, string>> = {},
  { secure = false } = {},
): Promise<KafkaCluster> {
  const java = await installKafka(line => console.error(line))
  const root = mkdtempSync(join(tmpdir(), 'onceward-kafka3-'))
  const ports = await freePorts(9)
  const [plain, controllers, sasl] = [ports.slice(0, 3), ports.slice(3, 6), ports.slice(6)]
  const certificates = secure ? makeCertificates(root) : null
  const initialControllers = nodes
    .map(node => `${node}@127.0.0.1:${controllers[node - 1]}:${kafkaId()}`)
    .join()
  const cluster = { id: kafkaId(), initialControllers }
  const brokers = new Map(
    nodes.map(node => {
      const folder = join(root, String(node))
      mkdirSync(folder)
      const file = join(folder, 'server.properties')
      const data = join(folder, 'data')
      const base = nodeProperties(node, { plain, controllers, data })
      const more = certificates === null ? {} : securedListener(base, sasl[node - 1]!, certificates)
      writeFileSync(file, toText({ ...base, ...more, ...properties }))
      return [node, { file, ...kafkaNode(java, { file, folder, port: plain[node - 1]! }) }]
    }),
  )
  const bootstrap = plain.map(port => `127.0.0.1:${port}`).join()
  const connections = new KafkaConnections({ bootstrap, clientId: 'test' }, { meta: 3_000 })
  const close = async () => {
    await connections.close()
    await Promise.all([...brokers.values()].map(broker => broker.close()))
    rmSync(root, { recursive: true, force: true })
  }
  const meta = async () => {
    const [broker] = await connections.brokers()
    return connections.connect('meta', broker!)
  }
  const partitionsOf = async (topic: string) => {
    const { topics } = await metadataV12.api.async(await meta(), [topic], false)
    return topics.flatMap(one => one.partitions)
  }
  const untilInSync = (topic: string, replicas = nodes.length) =>
    until(
      `${topic} has ${replicas} replicas in sync`,
      async () => {
        const found = await partitionsOf(topic).catch(() => [])
        return found.length > 0 && found.every(one => one.leaderId >= 0 && one.isrNodes.length >= replicas)
      },
      { deadlineMs: 120_000 },
    )
  const broker = (node: number) => brokers.get(node)!
  try {
    await Promise.all([...brokers.values()].map(({ file }) => formatStorage(java, file, [], cluster)))
    await Promise.all([...brokers.values()].map(one => one.start()))
    await until('three brokers are registered', async () => {
      const registered = await connections.brokers().catch(() => [])
      return registered.length === nodes.length
    })
  } catch (error) {
    await close()
    throw error
  }
  return {
    bootstrap,
    secured: sasl.map(port => `127.0.0.1:${port}`).join(),
    certificates,
    connections,
    kill: node => broker(node).kill(),
    stop: node => broker(node).stop(),
    freeze: node => broker(node).freeze(),
    resume: node => broker(node).resume(),
    start: node => broker(node).start(),
    leaderOf: async (topic, partition) => {
      const { partitions } = await connections.describeTopic(topic)
      return partitions[partition]!.leader
    },
    replicasOf: async (topic, partition) => {
      const found = (await partitionsOf(topic)).find(one => one.partitionIndex === partition)!
      return [found.leaderId, ...found.replicaNodes.filter(node => node !== found.leaderId)]
    },
    coordinatorOf: async group => {
      connections.forgetCoordinator('group', group)
      return (await connections.coordinator('group', group)).id
    },
    untilInSync,
    close,
  }
}

/** The login of clients on the secured listener. */
export const login = { mechanism: 'PLAIN', username: 'alice', password: 'alice-secret' } as const

function securedListener(
  { listeners, 'listener.security.protocol.map': protocols }: Record<string, string>,
  port: number,
  { keystoreFile, truststoreFile }: Certificates,
): Record<string, string> {
  const { username, password } = login
  const module = 'org.apache.kafka.common.security.plain.PlainLoginModule required'
  return {
    listeners: `${listeners},SECURED://127.0.0.1:${port}`,
    'listener.security.protocol.map': `${protocols},SECURED:SASL_SSL`,
    'listener.name.secured.sasl.enabled.mechanisms': 'PLAIN',
    'listener.name.secured.plain.sasl.jaas.config': `${module} user_${username}="${password}";`,
    'ssl.keystore.type': 'PEM',
    'ssl.keystore.location': keystoreFile,
    'ssl.truststore.type': 'PEM',
    'ssl.truststore.location': truststoreFile,
  }
}

function nodeProperties(
  node: number,
  { plain, controllers, data }: { plain: readonly number[]; controllers: readonly number[]; data: string },
): Record<string, string> {
  const [own, controller] = [plain[node - 1], controllers[node - 1]]
  return {
    'process.roles': 'broker,controller',
    'node.id': String(node),
    'controller.quorum.bootstrap.servers': controllers.map(port => `127.0.0.1:${port}`).join(),
    listeners: `PLAINTEXT://127.0.0.1:${own},CONTROLLER://127.0.0.1:${controller}`,
    'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
    'controller.listener.names': 'CONTROLLER',
    'inter.broker.listener.name': 'PLAINTEXT',
    'log.dirs': data,
    'offsets.topic.replication.factor': '3',
    'offsets.topic.num.partitions': '3',
    'transaction.state.log.replication.factor': '3',
    'transaction.state.log.min.isr': '2',
    'transaction.state.log.num.partitions': '3',
    'share.coordinator.state.topic.replication.factor': '1',
    'share.coordinator.state.topic.min.isr': '1',
    'group.initial.rebalance.delay.ms': '0',
    'group.consumer.min.session.timeout.ms': '6000',
    'group.consumer.session.timeout.ms': '10000',
    'group.consumer.heartbeat.interval.ms': '1000',
    'group.consumer.min.heartbeat.interval.ms': '1000',
    'auto.create.topics.enable': 'false',
  }
}

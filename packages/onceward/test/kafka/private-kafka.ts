import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { formatStorage, installKafka } from '../../../../scripts/services/kafka.ts'
import { freePorts } from '../services/free-ports.ts'
import { type Certificates, makeCertificates } from './certificates.ts'
import { kafkaNode, toText } from './kafka-node.ts'

/**
 * A broker of the test's own, on ports and in a folder of its own: it may be killed, frozen and started
 * again.
 */
export interface PrivateKafka {
  /** PLAINTEXT. */
  readonly bootstrap: string
  /** Only with `security`. SASL without TLS; TLS; TLS that asks for the client's certificate. */
  readonly listeners: { readonly sasl: string; readonly tls: string; readonly mtls: string }
  readonly certificates: Certificates
  /** kill -9; resolves when it is gone. */
  kill(): Promise<void>
  /** Starts it again on the same data and ports; resolves when it answers. */
  start(): Promise<void>
  /** SIGSTOP: the kernel still accepts connections, nobody answers. */
  freeze(): void
  resume(): void
  /** Kills it and removes its folder. */
  close(): Promise<void>
}

export interface PrivateKafkaOptions {
  /** Lines of server.properties beside or instead of ours. */
  readonly properties?: Readonly<Record<string, string>>
  /**
   * More listeners, an authorizer, and users: `alice` (password `alice-secret`, by PLAIN, SCRAM or an
   * unsecured token) may do everything, `mallory` (`mallory-secret`) nothing.
   */
  readonly security?: boolean
}

export const users = { alice: 'alice-secret', mallory: 'mallory-secret' } as const

export async function startPrivateKafka(options: PrivateKafkaOptions = {}): Promise<PrivateKafka> {
  const java = await installKafka(line => console.error(line))
  const folder = mkdtempSync(join(tmpdir(), 'onceward-kafka-'))
  const [plain, controller, sasl, tls, mtls] = await freePorts(5)
  const certificates = options.security === true ? makeCertificates(folder) : noCertificates
  const file = join(folder, 'server.properties')
  const base = baseProperties(plain!, controller!, join(folder, 'data'))
  const secure = options.security === true ? securityProperties(base, { sasl, tls, mtls }, certificates) : {}
  writeFileSync(file, toText({ ...base, ...secure, ...options.properties }))
  await formatStorage(java, file, options.security === true ? scramUsers() : [])

  const node = kafkaNode(java, { file, folder, port: plain! })
  const close = async () => {
    await node.close()
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    await node.start()
  } catch (error) {
    await close()
    throw error
  }
  const at = (port: number | undefined) => `127.0.0.1:${port}`
  return {
    bootstrap: at(plain),
    listeners: { sasl: at(sasl), tls: at(tls), mtls: at(mtls) },
    certificates,
    kill: node.kill,
    start: node.start,
    freeze: node.freeze,
    resume: node.resume,
    close,
  }
}

function baseProperties(plain: number, controller: number, data: string): Record<string, string> {
  return {
    'process.roles': 'broker,controller',
    'node.id': '1',
    'controller.quorum.bootstrap.servers': `127.0.0.1:${controller}`,
    listeners: `PLAINTEXT://127.0.0.1:${plain},CONTROLLER://127.0.0.1:${controller}`,
    'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
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
  }
}

function securityProperties(
  base: Record<string, string>,
  ports: { sasl: number | undefined; tls: number | undefined; mtls: number | undefined },
  { keystoreFile, truststoreFile }: Certificates,
): Record<string, string> {
  const plainUsers = Object.entries(users).map(([name, password]) => `user_${name}="${password}"`)
  const module = 'org.apache.kafka.common.security'
  const listener = 'listener.name.sasl'
  return {
    listeners: `${base.listeners},SASL://127.0.0.1:${ports.sasl},TLS://127.0.0.1:${ports.tls},MTLS://127.0.0.1:${ports.mtls}`,
    'listener.security.protocol.map': `${base['listener.security.protocol.map']},SASL:SASL_PLAINTEXT,TLS:SSL,MTLS:SSL`,
    [`${listener}.sasl.enabled.mechanisms`]: 'PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER',
    [`${listener}.plain.sasl.jaas.config`]: `${module}.plain.PlainLoginModule required ${plainUsers.join(' ')};`,
    [`${listener}.scram-sha-256.sasl.jaas.config`]: `${module}.scram.ScramLoginModule required;`,
    [`${listener}.scram-sha-512.sasl.jaas.config`]: `${module}.scram.ScramLoginModule required;`,
    [`${listener}.oauthbearer.sasl.jaas.config`]: `${module}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";`,
    'ssl.keystore.type': 'PEM',
    'ssl.keystore.location': keystoreFile,
    'ssl.truststore.type': 'PEM',
    'ssl.truststore.location': truststoreFile,
    'listener.name.mtls.ssl.client.auth': 'required',
    'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
    'super.users': 'User:ANONYMOUS;User:alice;User:CN=client',
  }
}

function scramUsers(): string[] {
  return Object.entries(users).flatMap(([name, password]) =>
    ['SCRAM-SHA-256', 'SCRAM-SHA-512'].flatMap(mechanism => [
      '--add-scram',
      `${mechanism}=[name=${name},password=${password}]`,
    ]),
  )
}

const noCertificates: Certificates = {
  ca: '',
  caFile: '',
  client: { cert: '', key: '' },
  server: { cert: '', key: '' },
  expired: { cert: '', key: '' },
  keystoreFile: '',
  truststoreFile: '',
}

import { setTimeout as sleep } from 'node:timers/promises'
import { OncewardError } from '../../../errors.ts'
import { answersPlainly } from '../../tls/answers-plainly.ts'
import { speaksTls } from '../../tls/speaks-tls.ts'
import { type BrokerFeatures, checkBroker } from './broker-version.ts'
import { type KafkaConnectionOptions, parseBootstrap } from './connection-options.ts'
import { type Address, ConnectionPools, type Purpose } from './connection-pools.ts'
import {
  answerOf,
  KafkaError,
  type KafkaTrouble,
  toOncewardError,
  troubleOf,
  troubleOfCode,
} from './kafka-error.ts'
import { KnownLeaders } from './known-leaders.ts'
import { type Connection, findCoordinatorV6, metadataV12 } from './wire.ts'

export interface KafkaNode extends Address {
  readonly id: number
}

export interface TopicDescription {
  readonly name: string
  /** Changes when the topic is deleted and created again. */
  readonly id: string
  /** By number, contiguous from 0. */
  readonly partitions: readonly PartitionDescription[]
  /** Id of the cluster; null when the brokers do not report it. */
  readonly cluster: string | null
}

export interface PartitionDescription {
  readonly partition: number
  /** The leader's node id; -1 while there is none. */
  readonly leader: number
  readonly leaderEpoch: number
}

/**
 * Called with the id of each cluster before any other request is sent to it. If it rejects, nothing is sent.
 */
export type OnCluster = (cluster: string) => Promise<void>

export type CoordinatorKind = 'group' | 'transaction'

const tlsProbeMs = 5_000
/** An ApiVersions request, the first of any client; brokers answer it before a login. */
const apiVersions = Buffer.from('0000000a0012000000000001ffff', 'hex')
/** Longest wait for a coordinator that moves or loads: elections take seconds. */
const coordinatorWaitMs = 10_000
/** After this time without an answer, another broker is queried in parallel. */
const hedgeMs = 1_000
/** After this time without an answer, the client checks whether the coordinator has moved. */
const silenceMs = 2_000

/**
 * A cluster as the client sees it: connections by purpose, brokers, topics, coordinators. Callers drop cached
 * facts that a broker contradicts (`forgetTopic`, `forgetCoordinator`), and the next use queries them again.
 * Errors are OncewardErrors only for the bootstrap list, the version and unknown topics. All others are the
 * client library's, to be read with `troubleOf`.
 */
export class KafkaConnections {
  readonly #bootstrap: readonly Address[]
  readonly #encrypted: boolean
  readonly #pools: ConnectionPools
  readonly #nodes = new Map<number, KafkaNode>()
  readonly #topics = new Map<string, TopicDescription>()
  readonly #coordinators = new Map<string, KafkaNode>()
  readonly #onCluster: OnCluster | undefined
  readonly #leaders = new KnownLeaders()
  #cluster: string | null = null
  #features: BrokerFeatures | null = null
  #turn = 0
  #closed = false

  constructor(
    options: KafkaConnectionOptions,
    timeoutsMs: Partial<Record<Purpose, number>> = {},
    onCluster?: OnCluster,
  ) {
    this.#onCluster = onCluster
    this.#bootstrap = parseBootstrap(options.bootstrap)
    this.#encrypted = options.tls !== undefined && options.tls !== false
    this.#pools = new ConnectionPools(options, timeoutsMs)
  }

  /** How many connections to brokers have broken. */
  get breaks(): number {
    return this.#pools.breaks
  }

  /**
   * Resolves when one broker has answered and supports the needed versions. Rejects with an OncewardError.
   */
  async check(): Promise<BrokerFeatures> {
    try {
      await this.brokers()
      return this.#features!
    } catch (error) {
      const state = 'Nothing was read, written or committed.'
      throw (await this.#otherProtocol(error, state)) ?? toOncewardError(error, 'Connecting to Kafka', state)
    }
  }

  /** A listener closes the connection when only one side uses TLS, which looks like a network failure. */
  async #otherProtocol(error: unknown, state: string): Promise<OncewardError | null> {
    const { kind, text } = troubleOf(error)
    if (kind !== 'network' || /ECONNREFUSED|ENOTFOUND|EAI_AGAIN/.test(text)) return null
    const probe = (address: Address) =>
      this.#encrypted ? answersPlainly(address, apiVersions, tlsProbeMs) : speaksTls(address, tlsProbeMs)
    if (!(await Promise.all(this.#bootstrap.map(probe))).includes(true)) return null
    const why = this.#encrypted
      ? 'this listener does not speak TLS, but this client is configured for it. Use the port of the TLS listener, or remove `tls` and ONCEWARD_KAFKA_TLS'
      : 'this listener requires TLS, but this client does not use it. Set `tls`, ONCEWARD_KAFKA_TLS or ONCEWARD_KAFKA_CA_FILE'
    return new OncewardError('configuration', `Connecting to Kafka: ${why}. ${state}`, {
      cause: error,
      details: { kafka: 'TLS', kind: 'credentials' },
    })
  }

  /** Always queries a broker. */
  async brokers(): Promise<readonly KafkaNode[]> {
    await this.#metadata([])
    return [...this.#nodes.values()]
  }

  async connect(purpose: Purpose, to: number | Address): Promise<Connection> {
    if (typeof to !== 'number') return this.#pools.connect(purpose, to)
    if (!this.#nodes.has(to)) await this.#metadata([])
    const node = this.#nodes.get(to)
    if (node === undefined) throw new KafkaError(troubleOfCode(8), `broker ${to} is not part of the cluster`)
    return this.#pools.connect(purpose, node)
  }

  /** Always queries a broker; null when the topic does not exist. */
  async findTopic(name: string): Promise<TopicDescription | null> {
    const { topics, clusterId } = await this.#metadata([name])
    const found = topics.find(topic => topic.name === name)
    if (found === undefined || troubleOfCode(found.errorCode).name === 'UNKNOWN_TOPIC_OR_PARTITION') {
      this.#topics.delete(name)
      return null
    }
    if (found.errorCode !== 0) throw new KafkaError(troubleOfCode(found.errorCode), `topic ${name}`)
    const partitions = found.partitions
      .map(({ partitionIndex, leaderId, leaderEpoch }) => ({
        partition: partitionIndex,
        leader: leaderId,
        leaderEpoch,
      }))
      .sort((a, b) => a.partition - b.partition)
    const newest = this.#leaders.newest(found.topicId, partitions)
    const topic = { name, id: found.topicId, partitions: newest, cluster: clusterId ?? null }
    this.#topics.set(name, topic)
    return topic
  }

  /** Always queries a broker; a missing topic is a `configuration` error. */
  async describeTopic(name: string): Promise<TopicDescription> {
    const topic = await this.findTopic(name)
    if (topic !== null) return topic
    throw new OncewardError(
      'configuration',
      `Topic ${name} does not exist on this cluster, or this user is not allowed to see it. Nothing was read, written or committed. Create the topic, or correct its name.`,
      { details: { kafka: 'UNKNOWN_TOPIC_OR_PARTITION', topic: name } },
    )
  }

  /** As last described. */
  async topic(name: string): Promise<TopicDescription> {
    return this.#topics.get(name) ?? this.describeTopic(name)
  }

  /**
   * The partition with its leader, as last described. A partition without a leader is queried again, and may
   * still have none (-1).
   */
  async leaderOf(topic: string, partition: number): Promise<PartitionDescription> {
    const known = (await this.topic(topic)).partitions[partition]
    if (known !== undefined && known.leader >= 0) return known
    const fresh = (await this.describeTopic(topic)).partitions[partition]
    if (fresh !== undefined) return fresh
    throw new KafkaError(troubleOfCode(3), `topic ${topic} has no partition ${partition}`)
  }

  /** Call it when a broker contradicts the cached description. */
  forgetTopic(name: string): void {
    this.#topics.delete(name)
  }

  /** As last found. Waits up to ten seconds while there is none. */
  async coordinator(kind: CoordinatorKind, key: string): Promise<KafkaNode> {
    const known = this.#coordinators.get(`${kind} ${key}`)
    if (known !== undefined) return known
    return retryWhile(isCoordinatorTrouble, async () => {
      const node = await this.#findCoordinator(kind, key)
      this.#coordinators.set(`${kind} ${key}`, node)
      return node
    })
  }

  async #findCoordinator(kind: CoordinatorKind, key: string): Promise<KafkaNode> {
    const { coordinators } = await this.#askAny(connection =>
      findCoordinatorV6.api.async(connection, kind === 'group' ? 0 : 1, [key]),
    )
    const { nodeId, host, port, errorCode, errorMessage } = coordinators[0]!
    if (errorCode !== 0)
      throw new KafkaError(troubleOfCode(errorCode, errorMessage), `coordinator of ${kind} ${key}`)
    return { id: nodeId, host, port }
  }

  forgetCoordinator(kind: CoordinatorKind, key: string): void {
    this.#coordinators.delete(`${kind} ${key}`)
  }

  /**
   * Sends a request to the coordinator. When the coordinator has moved or is still loading, the request was
   * not processed; it is repeated at the present coordinator. After a broken connection it may have been
   * processed: the caller gets that error, and the next call finds the coordinator again. A silent
   * coordinator is abandoned the same way once the cluster names another, because a frozen broker keeps its
   * connections.
   */
  async atCoordinator<T>(
    kind: CoordinatorKind,
    key: string,
    purpose: Purpose,
    request: (connection: Connection) => Promise<T>,
  ): Promise<T> {
    return retryWhile(isCoordinatorTrouble, async () => {
      try {
        const node = await this.coordinator(kind, key)
        const connected = await this.connect(purpose, node)
        return await this.#whileCoordinator(kind, key, node, request(connected))
      } catch (error) {
        const trouble = troubleOf(error).kind
        if (trouble === 'coordinator' || trouble === 'network') this.forgetCoordinator(kind, key)
        throw error
      }
    })
  }

  close(): Promise<void> {
    this.#closed = true
    return this.#pools.close()
  }

  /** The answer, unless it is missing and the cluster has another coordinator. */
  async #whileCoordinator<T>(
    kind: CoordinatorKind,
    key: string,
    node: KafkaNode,
    answer: Promise<T>,
  ): Promise<T> {
    let isAnswered = false
    const answered = answer.finally(() => {
      isAnswered = true
    })
    const moved = async (): Promise<T> => {
      for (;;) {
        await unlessAnswered(answered, silenceMs)
        if (isAnswered || this.#closed) return answered
        const now = await this.#findCoordinator(kind, key).catch(() => node)
        if (!isAnswered && now.id !== node.id) {
          answered.catch(() => {})
          throw new KafkaError(goneSilent, `coordinator of ${kind} ${key}: broker ${node.id}`)
        }
      }
    }
    return moved()
  }

  async #metadata(topics: readonly string[]) {
    const answer = await this.#askAny(connection => metadataV12.api.async(connection, [...topics], false))
    await this.#register(answer.clusterId ?? null)
    this.#nodes.clear()
    for (const { nodeId, host, port } of answer.brokers) this.#nodes.set(nodeId, { id: nodeId, host, port })
    return answer
  }

  /** Reports a cluster once, before the first use of its nodes. */
  async #register(cluster: string | null): Promise<void> {
    if (cluster === null || cluster === this.#cluster) return
    await this.#onCluster?.(cluster)
    this.#cluster = cluster
  }

  /**
   * Queries known brokers first, because bootstrap addresses may be outdated. A broker that does not answer
   * loses its first place. The next one is queried in parallel, because a frozen broker accepts connections
   * and stays silent.
   */
  async #askAny<T>(request: (connection: Connection) => Promise<T>): Promise<T> {
    const known = [...this.#nodes.values()]
    const first = known.length === 0 ? 0 : this.#turn % known.length
    const asked: Promise<Asked<T>>[] = []
    let last: unknown
    for (const address of [...known.slice(first), ...known.slice(0, first), ...this.#bootstrap]) {
      const question = this.#ask(address, request)
      asked.push(question)
      const early = await unlessAnswered(question, hedgeMs)
      if (early === null) {
        this.#turn++
        continue
      }
      if ('answer' in early) return early.answer
      if (early.error instanceof OncewardError) throw early.error
      this.#turn++
      last = preferred(last, early.error)
    }
    return Promise.any(asked.map(question => question.then(answerOrThrow))).catch(error => {
      for (const one of (error as AggregateError).errors) last = preferred(last, one)
      throw last
    })
  }

  async #ask<T>(address: Address, request: (connection: Connection) => Promise<T>): Promise<Asked<T>> {
    try {
      const connection = await this.#pools.connect('meta', address)
      this.#features ??= await checkBroker(connection)
      return { answer: await answerOf(request(connection)) }
    } catch (error) {
      return { error }
    }
  }
}

type Asked<T> = { readonly answer: T } | { readonly error: unknown }

function answerOrThrow<T>(asked: Asked<T>): T {
  if ('answer' in asked) return asked.answer
  throw asked.error
}

const goneSilent: KafkaTrouble = {
  name: 'NETWORK',
  kind: 'network',
  retriable: true,
  text: 'it does not answer, and the cluster has another coordinator',
}

/** The result; null when it takes longer. */
async function unlessAnswered<T>(question: Promise<T>, waitMs: number): Promise<T | null> {
  const early = new AbortController()
  const late = sleep(waitMs, null, { signal: early.signal }).catch(() => null)
  try {
    return await Promise.race([question, late])
  } finally {
    early.abort()
  }
}

/** Of two brokers' errors, the one an operator must act on. */
function preferred(first: unknown, second: unknown): unknown {
  return first !== undefined && !troubleOf(first).retriable ? first : second
}

function isCoordinatorTrouble(error: unknown): boolean {
  return troubleOf(error).kind === 'coordinator'
}

async function retryWhile<T>(passes: (error: unknown) => boolean, attempt: () => Promise<T>): Promise<T> {
  const end = performance.now() + coordinatorWaitMs
  for (let pauseMs = 20; ; pauseMs = Math.min(500, pauseMs * 2)) {
    try {
      return await attempt()
    } catch (error) {
      if (!passes(error) || performance.now() + pauseMs > end) throw error
      await sleep(pauseMs)
    }
  }
}

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
  /** Another after the topic was deleted and made again. */
  readonly id: string
  /** By number, from 0 without gaps. */
  readonly partitions: readonly PartitionDescription[]
  /** Id of the cluster; null where the brokers do not say. */
  readonly cluster: string | null
}

export interface PartitionDescription {
  readonly partition: number
  /** The leader's node id; -1 while there is none. */
  readonly leader: number
  readonly leaderEpoch: number
}

/**
 * Called with the id of each cluster that is met, before anything is sent there. Where it rejects nothing is.
 */
export type OnCluster = (cluster: string) => Promise<void>

export type CoordinatorKind = 'group' | 'transaction'

const tlsProbeMs = 5_000
/** A request for API versions, the first of any client; answered before a login too. */
const apiVersions = Buffer.from('0000000a0012000000000001ffff', 'hex')
/** Longest wait for a coordinator that moves or loads: elections take seconds. */
const coordinatorWaitMs = 10_000
/** A broker that has not answered for so long is not waited for alone: another one is asked too. */
const hedgeMs = 1_000
/** A coordinator that is silent for so long may be another by now. */
const silenceMs = 2_000

/**
 * A cluster, as far as everybody on the wire needs it: connections by purpose, brokers, topics, coordinators.
 * What it remembers is dropped by whoever is told otherwise by a broker (`forgetTopic`, `forgetCoordinator`),
 * and asked for again at the next use. Its errors are OncewardErrors only for the bootstrap list, the version
 * and unknown topics; the rest is the client's, for `troubleOf`.
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

  /** Resolves when one broker has answered and speaks what we need. Rejects with an OncewardError. */
  async check(): Promise<BrokerFeatures> {
    try {
      await this.brokers()
      return this.#features!
    } catch (error) {
      const state = 'Nothing was read, written or committed.'
      throw (await this.#otherProtocol(error, state)) ?? toOncewardError(error, 'Connecting to Kafka', state)
    }
  }

  /**
   * A listener hangs up on those who speak TLS and should not, or should and do not, which looks like a
   * broken connection.
   */
  async #otherProtocol(error: unknown, state: string): Promise<OncewardError | null> {
    const { kind, text } = troubleOf(error)
    if (kind !== 'network' || /ECONNREFUSED|ENOTFOUND|EAI_AGAIN/.test(text)) return null
    const probe = (address: Address) =>
      this.#encrypted ? answersPlainly(address, apiVersions, tlsProbeMs) : speaksTls(address, tlsProbeMs)
    if (!(await Promise.all(this.#bootstrap.map(probe))).includes(true)) return null
    const why = this.#encrypted
      ? 'this listener does not speak TLS, and we do. Use the port of its TLS listener, or leave `tls` and ONCEWARD_KAFKA_TLS out'
      : 'this listener speaks TLS only, and we do not. Set `tls`, or ONCEWARD_KAFKA_TLS or ONCEWARD_KAFKA_CA_FILE'
    return new OncewardError('configuration', `Connecting to Kafka: ${why}. ${state}`, {
      cause: error,
      details: { kafka: 'TLS', kind: 'credentials' },
    })
  }

  /** Asks anew. */
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

  /** Asks anew; null when there is no such topic. */
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

  /** Asks anew; a topic that is not there is a `configuration` error. */
  async describeTopic(name: string): Promise<TopicDescription> {
    const topic = await this.findTopic(name)
    if (topic !== null) return topic
    throw new OncewardError(
      'configuration',
      `There is no topic ${name} on this cluster, or this user may not see it. Nothing was read, written or committed. Create the topic, or correct its name.`,
      { details: { kafka: 'UNKNOWN_TOPIC_OR_PARTITION', topic: name } },
    )
  }

  /** As last described. */
  async topic(name: string): Promise<TopicDescription> {
    return this.#topics.get(name) ?? this.describeTopic(name)
  }

  /**
   * The partition with its leader, as last described. A partition without one is asked for anew, and may
   * still have none (-1).
   */
  async leaderOf(topic: string, partition: number): Promise<PartitionDescription> {
    const known = (await this.topic(topic)).partitions[partition]
    if (known !== undefined && known.leader >= 0) return known
    const fresh = (await this.describeTopic(topic)).partitions[partition]
    if (fresh !== undefined) return fresh
    throw new KafkaError(troubleOfCode(3), `topic ${topic} has no partition ${partition}`)
  }

  /** What we know of this topic has proved wrong. */
  forgetTopic(name: string): void {
    this.#topics.delete(name)
  }

  /** As last found. Waits while there is none, for ten seconds at most. */
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
   * Sends a request to the coordinator; when that is another by now, or is still loading, finds it again and
   * repeats: the request was not looked at. After a broken connection it may have been: that error is the
   * caller's, and the next call looks for the coordinator again. One that says nothing is left the same way
   * once the cluster names another: a frozen broker keeps its connections.
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

  /** The answer, unless it does not come and the cluster has another coordinator. */
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
    await this.#meet(answer.clusterId ?? null)
    this.#nodes.clear()
    for (const { nodeId, host, port } of answer.brokers) this.#nodes.set(nodeId, { id: nodeId, host, port })
    return answer
  }

  /** Before a node of this cluster is used. A cluster is asked about once. */
  async #meet(cluster: string | null): Promise<void> {
    if (cluster === null || cluster === this.#cluster) return
    await this.#onCluster?.(cluster)
    this.#cluster = cluster
  }

  /**
   * Those we know first: bootstrap addresses may be long gone. A broker that does not answer is not the first
   * one asked the next time, and is waited for beside the next one: frozen, it accepts connections and says
   * nothing.
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
  text: 'it does not answer, and the cluster has another coordinator by now',
}

/** What it resolves with; null when that takes longer. */
async function unlessAnswered<T>(question: Promise<T>, waitMs: number): Promise<T | null> {
  const early = new AbortController()
  const late = sleep(waitMs, null, { signal: early.signal }).catch(() => null)
  try {
    return await Promise.race([question, late])
  } finally {
    early.abort()
  }
}

/** Of two brokers' refusals the one a person has to act on. */
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

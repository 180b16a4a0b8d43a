import { errorText } from '../../errors.ts'
import type { KafkaConnectionOptions } from './client/connection-options.ts'
import { KafkaConnections } from './client/connections.ts'
import { answerOf, toOncewardError, troubleOfCode } from './client/kafka-error.ts'
import { describeConfigsV4, metadataV12 } from './client/wire.ts'
import { recordRetentionMs } from './record-retention.ts'
import { type KeySample, sampleKeys } from './sample-keys.ts'

/** The state of a cluster that a check needs. */
export interface ClusterState {
  readonly brokers: number
  readonly cluster: string | null
  /** How long the broker keeps the offsets of a group without members; null when it does not report that. */
  readonly offsetsKeptMs: number | null
  /** What the broker did not report although it was asked, or reported as no broker does. */
  readonly unreported: readonly string[]
  /** Topics that do not exist have no entry. */
  readonly topics: ReadonlyMap<string, TopicState>
}

export interface TopicState {
  readonly partitions: number
  /** Replicas of the partition with the fewest, and how many of them are in sync. */
  readonly replicas: number
  readonly inSync: number
  readonly leaderless: number
  /** As reported by the broker; empty when this login lacks the permission. */
  readonly configs: ReadonlyMap<string, string>
  readonly recordRetentionMs: number
  /** A sample of the newest records; null when they were not or could not be read. */
  readonly sample: KeySample | null
  /** Why the newest records could not be read. */
  readonly unsampled: string | null
  /** Why only the topic's name is known. */
  readonly unasked: string | null
}

const [topicResource, brokerResource] = [2, 4]
const wholeNumber = /^-?\d{1,19}$/
/** What is asked of a topic, and the forms in which brokers report it. */
const topicConfigs: Readonly<Record<string, RegExp>> = {
  'retention.ms': wholeNumber,
  'retention.bytes': wholeNumber,
  'segment.ms': wholeNumber,
  'cleanup.policy': /^((compact|delete)(, ?(compact|delete))?)?$/,
  'min.insync.replicas': /^[1-9]\d{0,9}$/,
  'message.timestamp.type': /^(CreateTime|LogAppendTime)$/,
  'unclean.leader.election.enable': /^(true|false)$/,
}
const brokerConfigs = { 'offsets.retention.minutes': /^[1-9]\d{0,9}$/ }
const atATime = 16

export interface AskedTopics {
  readonly read: readonly string[]
  /** Only their existence is checked: a login that writes to a topic may lack the permission to read it. */
  readonly written: readonly string[]
}

/** Reads and changes nothing: joins no group, commits nothing, and never auto-creates a topic. */
export async function describeCluster(
  options: KafkaConnectionOptions,
  { read, written }: AskedTopics,
): Promise<ClusterState> {
  const connections = new KafkaConnections(options, { meta: 5_000, fetch: 5_000 })
  try {
    const brokers = await connections.brokers()
    const connection = await connections.connect('meta', brokers[0]!)
    const names = [...new Set([...read, ...written])]
    const {
      topics,
      clusterId,
      brokers: listed,
    } = await answerOf(metadataV12.api.async(connection, names, false))
    const present = topics.filter(({ errorCode }) => errorCode === 0)
    const nodes = new Set(listed.map(({ nodeId }) => nodeId))
    const states = new Map(present.map(topic => [topic.name!, topicState(topic, nodes)]))
    const wanted = new Set(read)
    const looked = present.filter(({ name }) => wanted.has(name!)).map(({ name }) => name!)
    const configs = await readConfigs(connection, brokers[0]!.id, looked)
    for (let at = 0; at < looked.length; at += atATime) {
      const some = looked.slice(at, at + atATime).map(async name => {
        const sampled = await trySample(connections, name)
        states.set(name, { ...states.get(name)!, ...configured(name, configs), ...sampled })
      })
      await Promise.all(some)
    }
    for (const { name, errorCode } of topics) {
      if (errorCode === 0 || troubleOfCode(errorCode).name === 'UNKNOWN_TOPIC_OR_PARTITION') continue
      states.set(name!, { ...nothingKnown, unasked: `topic ${name}: ${troubleOfCode(errorCode).text}` })
    }
    const node = String(brokers[0]!.id)
    const ofBroker = configs.of(brokerResource, node)
    const minutes = Number(ofBroker.get('offsets.retention.minutes') || Number.NaN)
    const unreported = looked.flatMap(name =>
      configs.trouble(topicResource, name) === null
        ? oddConfigs(configs.of(topicResource, name), topicConfigs, `topic ${name}`)
        : [],
    )
    if (looked.length > 0) unreported.push(...oddConfigs(ofBroker, brokerConfigs, `broker ${node}`))
    return {
      brokers: brokers.length,
      cluster: clusterId ?? null,
      offsetsKeptMs: minutes > 0 ? minutes * 60_000 : null,
      unreported,
      topics: states,
    }
  } catch (error) {
    throw toOncewardError(error, 'Querying Kafka', 'Nothing was changed.')
  } finally {
    await connections.close()
  }
}

type Sampled = Pick<TopicState, 'sample' | 'unsampled'>

async function trySample(connections: KafkaConnections, name: string): Promise<Sampled> {
  try {
    return { sample: await sampleKeys(connections, name), unsampled: null }
  } catch (error) {
    const unsampled = `the newest records of topic ${name} cannot be read: ${errorText(error, 300)}`
    return { sample: null, unsampled }
  }
}

interface Configs {
  of(type: number, resource: string): ReadonlyMap<string, string>
  trouble(type: number, resource: string): string | null
}

async function readConfigs(
  connection: Parameters<typeof describeConfigsV4.api.async>[0],
  broker: number,
  topics: readonly string[],
): Promise<Configs> {
  const { results } = await answerOf(
    describeConfigsV4.api.async(
      connection,
      [
        {
          resourceType: brokerResource,
          resourceName: String(broker),
          configurationKeys: Object.keys(brokerConfigs),
        },
        ...topics.map(resourceName => ({
          resourceType: topicResource,
          resourceName,
          configurationKeys: Object.keys(topicConfigs),
        })),
      ] as never,
      false,
      false,
    ),
  )
  // A topic's name may equal a broker's id.
  const found = new Map(results.map(result => [`${result.resourceType}/${result.resourceName}`, result]))
  return {
    of: (type, name) =>
      new Map(found.get(`${type}/${name}`)?.configs.map(one => [one.name, one.value ?? '']) ?? []),
    trouble: (type, name) => {
      const { errorCode = 0, errorMessage = null } = found.get(`${type}/${name}`) ?? {}
      return errorCode === 0 ? null : troubleOfCode(errorCode, errorMessage).text
    },
  }
}

type DescribedTopic = Awaited<ReturnType<typeof metadataV12.api.async>>['topics'][number]

/** A rule whose setting is missing or unreadable is silent, which must not look like a pass. */
export function oddConfigs(
  configs: ReadonlyMap<string, string>,
  asked: Readonly<Record<string, RegExp>>,
  of: string,
): string[] {
  return Object.entries(asked).flatMap(([name, form]) => {
    const value = configs.get(name)
    if (value === undefined) return [`${of} reports no ${name}`]
    return form.test(value) ? [] : [`${of} reports ${name} as ${JSON.stringify(value.slice(0, 60))}`]
  })
}

/** The state as far as metadata contains it. `nodes` are the brokers that the cluster lists. */
export function topicState(
  { name, partitions }: Pick<DescribedTopic, 'name' | 'partitions'>,
  nodes: ReadonlySet<number>,
): TopicState {
  if (partitions.length === 0)
    return { ...nothingKnown, unasked: `topic ${name}: the broker lists no partitions` }
  const copies = partitions.map(({ replicaNodes, isrNodes }) => {
    const replicas = new Set(replicaNodes)
    return { replicas: replicas.size, inSync: new Set(isrNodes.filter(node => replicas.has(node))).size }
  })
  return {
    ...nothingKnown,
    partitions: partitions.length,
    replicas: Math.min(...copies.map(one => one.replicas)),
    inSync: Math.min(...copies.map(one => one.inSync)),
    leaderless: partitions.filter(one => !nodes.has(one.leaderId)).length,
  }
}

function configured(
  name: string,
  all: Configs,
): Pick<TopicState, 'configs' | 'recordRetentionMs'> & Partial<Pick<TopicState, 'unasked'>> {
  const configs = all.of(topicResource, name)
  const trouble = all.trouble(topicResource, name)
  return {
    configs,
    recordRetentionMs: recordRetentionMs(configs),
    ...(trouble !== null && { unasked: `the configuration of topic ${name} cannot be read: ${trouble}` }),
  }
}

const nothingKnown: TopicState = {
  partitions: 0,
  replicas: 0,
  inSync: 0,
  leaderless: 0,
  configs: new Map(),
  recordRetentionMs: Number.NaN,
  sample: null,
  unsampled: null,
  unasked: null,
}

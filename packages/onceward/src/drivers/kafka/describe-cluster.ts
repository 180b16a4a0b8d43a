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
const topicConfigs = [
  'retention.ms',
  'retention.bytes',
  'segment.ms',
  'cleanup.policy',
  'min.insync.replicas',
  'message.timestamp.type',
  'unclean.leader.election.enable',
]
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
    const { topics, clusterId } = await answerOf(metadataV12.api.async(connection, names, false))
    const present = topics.filter(({ errorCode }) => errorCode === 0)
    const states = new Map(present.map(topic => [topic.name!, toState(topic)]))
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
    const minutes = Number(
      configs.of(brokerResource, String(brokers[0]!.id)).get('offsets.retention.minutes') || Number.NaN,
    )
    return {
      brokers: brokers.length,
      cluster: clusterId ?? null,
      offsetsKeptMs: minutes > 0 ? minutes * 60_000 : null,
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
          configurationKeys: ['offsets.retention.minutes'],
        },
        ...topics.map(resourceName => ({
          resourceType: topicResource,
          resourceName,
          configurationKeys: topicConfigs,
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

/** The state as far as metadata contains it. */
function toState({ partitions }: DescribedTopic): TopicState {
  return {
    ...nothingKnown,
    partitions: partitions.length,
    replicas: Math.min(...partitions.map(one => one.replicaNodes.length)),
    inSync: Math.min(...partitions.map(one => one.isrNodes.length)),
    leaderless: partitions.filter(one => one.leaderId < 0).length,
  }
}

function configured(
  name: string,
  all: Configs,
): Pick<TopicState, 'configs' | 'recordRetentionMs' | 'unasked'> {
  const configs = all.of(topicResource, name)
  const trouble = all.trouble(topicResource, name)
  return {
    configs,
    recordRetentionMs: recordRetentionMs(configs),
    unasked: trouble === null ? null : `the configuration of topic ${name} cannot be read: ${trouble}`,
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

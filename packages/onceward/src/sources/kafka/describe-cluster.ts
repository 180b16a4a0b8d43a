import { describeConfigsV4, metadataV12 } from '@platformatic/kafka'
import type { KafkaConnectionOptions } from './client/connection-options.ts'
import { KafkaConnections } from './client/connections.ts'
import { answerOf, toOncewardError, troubleOfCode } from './client/kafka-error.ts'
import { recordLifeMs } from './record-life.ts'
import { type KeySample, sampleKeys } from './sample-keys.ts'

/** What a check needs to know of a cluster. */
export interface ClusterState {
  readonly brokers: number
  readonly cluster: string | null
  /** How long the offsets of a group without members are kept; null where the broker does not say. */
  readonly offsetsKeptMs: number | null
  /** Topics that do not exist have no entry. */
  readonly topics: ReadonlyMap<string, TopicState>
}

export interface TopicState {
  readonly partitions: number
  /** Copies of the partition that has the fewest, and those of them that are in step. */
  readonly replicas: number
  readonly inSync: number
  readonly leaderless: number
  /** As the broker gives them; empty where this login may not look. */
  readonly configs: ReadonlyMap<string, string>
  readonly recordLifeMs: number
  /** The newest records; null where they could not be read. */
  readonly sample: KeySample | null
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

/** Reads and changes nothing: joins no group, commits nothing, and makes no topic by asking for it. */
export async function describeCluster(
  options: KafkaConnectionOptions,
  names: readonly string[],
): Promise<ClusterState> {
  const connections = new KafkaConnections(options, { meta: 5_000, fetch: 5_000 })
  try {
    const brokers = await connections.brokers()
    const connection = await connections.connect('meta', brokers[0]!)
    const { topics, clusterId } = await answerOf(metadataV12.api.async(connection, [...names], false))
    const present = topics.filter(({ errorCode }) => errorCode === 0)
    const configs = await readConfigs(
      connection,
      brokers[0]!.id,
      present.map(({ name }) => name!),
    )
    const states = new Map<string, TopicState>()
    for (let at = 0; at < present.length; at += atATime) {
      const some = present.slice(at, at + atATime).map(async topic => {
        const sample = await sampleKeys(connections, topic.name!).catch(() => null)
        states.set(topic.name!, toState(topic, configs, sample))
      })
      await Promise.all(some)
    }
    for (const { name, errorCode } of topics) {
      if (errorCode === 0 || troubleOfCode(errorCode).name === 'UNKNOWN_TOPIC_OR_PARTITION') continue
      states.set(name!, unreadable(`topic ${name}: ${troubleOfCode(errorCode).text}`))
    }
    const minutes = Number(configs.of(String(brokers[0]!.id)).get('offsets.retention.minutes') || Number.NaN)
    return {
      brokers: brokers.length,
      cluster: clusterId ?? null,
      offsetsKeptMs: minutes > 0 ? minutes * 60_000 : null,
      topics: states,
    }
  } catch (error) {
    throw toOncewardError(error, 'Asking Kafka', 'Nothing was changed.')
  } finally {
    await connections.close()
  }
}

interface Configs {
  of(resource: string): ReadonlyMap<string, string>
  trouble(resource: string): string | null
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
  const found = new Map(results.map(result => [result.resourceName, result]))
  return {
    of: name => new Map(found.get(name)?.configs.map(one => [one.name, one.value ?? '']) ?? []),
    trouble: name => {
      const { errorCode = 0, errorMessage = null } = found.get(name) ?? {}
      return errorCode === 0 ? null : troubleOfCode(errorCode, errorMessage).text
    },
  }
}

type DescribedTopic = Awaited<ReturnType<typeof metadataV12.api.async>>['topics'][number]

function toState(
  { name, partitions }: DescribedTopic,
  configs: Configs,
  sample: KeySample | null,
): TopicState {
  const own = configs.of(name!)
  const trouble = configs.trouble(name!)
  return {
    partitions: partitions.length,
    replicas: Math.min(...partitions.map(one => one.replicaNodes.length)),
    inSync: Math.min(...partitions.map(one => one.isrNodes.length)),
    leaderless: partitions.filter(one => one.leaderId < 0).length,
    configs: own,
    recordLifeMs: recordLifeMs(own),
    sample,
    unasked: trouble === null ? null : `the configuration of topic ${name} cannot be read: ${trouble}`,
  }
}

function unreadable(why: string): TopicState {
  return {
    partitions: 0,
    replicas: 0,
    inSync: 0,
    leaderless: 0,
    configs: new Map(),
    recordLifeMs: Number.NaN,
    sample: null,
    unasked: why,
  }
}

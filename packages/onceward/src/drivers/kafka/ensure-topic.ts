import { OncewardError } from '../../errors.ts'
import type { KafkaConnectionOptions } from './client/connection-options.ts'
import { KafkaConnections } from './client/connections.ts'
import { answerOf, KafkaError, toOncewardError, troubleOfCode } from './client/kafka-error.ts'
import { createTopicsV7 } from './client/wire.ts'

/** Partitions and settings of a new topic. */
export interface CreateTopicOptions {
  readonly partitions: number
  /** Default: the cluster's default for new topics. */
  readonly replicationFactor?: number
  readonly configs?: Readonly<Record<string, string>>
}

/**
 * Ensures that a topic exists, so dead letters can be published. It is created only when `create` is given:
 * partitions and replicas determine a topic's capacity and whether it survives a broker, and Onceward cannot
 * guess either. An existing topic is left unchanged.
 */
export async function ensureTopic(
  options: KafkaConnectionOptions,
  name: string,
  create?: CreateTopicOptions,
): Promise<void> {
  const connections = new KafkaConnections(options)
  try {
    if ((await connections.findTopic(name)) !== null) return
    if (create === undefined) throw missing(name)
    await createTopic(connections, name, create)
  } catch (error) {
    throw toOncewardError(error, `Looking for topic ${name}`, 'Nothing was created, read or written.')
  } finally {
    await connections.close()
  }
}

async function createTopic(
  connections: KafkaConnections,
  name: string,
  { partitions, replicationFactor = -1, configs = {} }: CreateTopicOptions,
): Promise<void> {
  const [broker] = await connections.brokers()
  const connection = await connections.connect('meta', broker!)
  const topic = {
    name,
    numPartitions: partitions,
    replicationFactor,
    assignments: [],
    configs: Object.entries(configs).map(([key, value]) => ({ name: key, value })),
  }
  const [made] = (await answerOf(createTopicsV7.api.async(connection, [topic], 10_000, false))).topics
  const trouble = troubleOfCode(made!.errorCode, made!.errorMessage)
  if (made!.errorCode === 0 || trouble.name === 'TOPIC_ALREADY_EXISTS') return
  throw new KafkaError(trouble, `topic ${name}`)
}

function missing(name: string): OncewardError {
  return new OncewardError(
    'configuration',
    `Topic ${name} does not exist, or this user is not allowed to see it. Nothing was started. Create it: kafka-topics.sh --create --topic ${name} --partitions … --replication-factor …`,
    { details: { kafka: 'UNKNOWN_TOPIC_OR_PARTITION', topic: name } },
  )
}

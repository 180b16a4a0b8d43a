import type { SourceDeclaration } from '../contract/contract.ts'
import { kafkaAddress } from '../drivers/broker-addresses.ts'
import type { TopicDeclaration } from '../drivers/kafka/topic.ts'
import { OncewardError } from '../errors.ts'
import { levelQueue } from '../ports/retry-levels.ts'
import { importKafka } from './broker-clients.ts'
import { clusterOf } from './cluster-of.ts'
import type { Broker, BrokerAccess } from './open-source.ts'

/**
 * Dead letters and retries go to topics of the same cluster. The topics must exist: their partitions and
 * replicas cannot be guessed.
 */
export async function openKafka(source: SourceDeclaration, access: BrokerAccess): Promise<Broker> {
  const { env, signal } = access
  const connection = kafkaAddress(source as TopicDeclaration, access.kafkaBootstrap, access)
  if (connection === null) {
    throw new OncewardError(
      'configuration',
      'The contract reads from Kafka, but no address is configured. Set ONCEWARD_KAFKA_BOOTSTRAP. Nothing was started.',
    )
  }
  const { createKafkaSource, createKafkaPublisher, createRetryTopicSource, ensureTopic } = await importKafka()
  const { copiesInLevel } = await import('../drivers/kafka/copies-in-level.ts')
  const declaration = { ...(source as TopicDeclaration), ...connection }
  const options = { log: env.log, ...(signal && { signal }) }
  return {
    source: createKafkaSource(declaration, options),
    ensureQueue: name => ensureTopic(connection, name),
    openRetryLevels: async levelsMs => {
      for (const levelMs of levelsMs) await ensureTopic(connection, levelQueue(declaration.topic, levelMs))
      return levelsMs.map(levelMs => createRetryTopicSource(declaration, levelMs, options))
    },
    copiesIn: (levelMs, consumer) => copiesInLevel({ ...declaration, ...connection }, levelMs, consumer),
    openPublisher: async onBroker => createKafkaPublisher({ ...connection, onBroker }),
    virtualHost: '',
    outlet: { address: connection.bootstrap, cluster: clusterOf(source, 'bootstrap', access.kafkaCluster) },
  }
}

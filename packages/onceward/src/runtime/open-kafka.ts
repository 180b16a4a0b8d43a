import type { SourceDeclaration } from '../contract/contract.ts'
import { levelQueue } from '../contracts/retry-levels.ts'
import { OncewardError } from '../errors.ts'
import type { TopicDeclaration } from '../sources/kafka/topic.ts'
import { importKafka } from './broker-clients.ts'
import { type Broker, type BrokerAccess, clusterOf } from './open-source.ts'

/** Dead letters and retries go to topics of the same cluster, which must be there: their partitions and replicas are not ours to guess. */
export async function openKafka(
  source: SourceDeclaration,
  { kafkaBootstrap, kafkaCluster, world, signal }: BrokerAccess,
): Promise<Broker> {
  const declaration = source as TopicDeclaration
  const bootstrap = declaration.bootstrap ?? kafkaBootstrap
  if (bootstrap === undefined) {
    throw new OncewardError(
      'configuration',
      'The contract reads from Kafka, but no address is known. Set ONCEWARD_KAFKA_BOOTSTRAP. Nothing was started.',
    )
  }
  const { createKafkaSource, createKafkaPublisher, createRetryTopicSource, ensureTopic } = await importKafka()
  const { tls, sasl } = declaration
  const connection = {
    bootstrap,
    ...(tls !== undefined && { tls }),
    ...(sasl !== undefined && { sasl }),
  }
  return {
    source: createKafkaSource(declaration, { bootstrap, log: world.log, ...(signal && { signal }) }),
    ensureQueue: name => ensureTopic(connection, name),
    openRetryLevels: async levelsMs => {
      for (const levelMs of levelsMs) await ensureTopic(connection, levelQueue(declaration.topic, levelMs))
      const options = { bootstrap, log: world.log, ...(signal && { signal }) }
      return levelsMs.map(levelMs => createRetryTopicSource(declaration, levelMs, options))
    },
    openPublisher: async onBroker => createKafkaPublisher({ ...connection, onBroker }),
    virtualHost: '',
    outlet: { address: bootstrap, cluster: clusterOf(declaration, 'bootstrap', kafkaCluster) },
  }
}

import type { SourceDeclaration } from '../contract/contract.ts'
import type { TopicDeclaration } from '../sources/kafka/topic.ts'
import { addressMissing, type Broker, type BrokerAccess, loaded } from './broker.ts'

/** Dead letters go to a topic of the same cluster, which must be there: its partitions and replicas are not ours to guess. */
export async function openKafka(
  source: SourceDeclaration,
  { kafkaBootstrap, world }: BrokerAccess,
): Promise<Broker> {
  const declaration = source as TopicDeclaration
  const bootstrap = declaration.bootstrap ?? kafkaBootstrap
  if (bootstrap === undefined) throw addressMissing('Kafka', 'ONCEWARD_KAFKA_BOOTSTRAP')
  const { createKafkaSource, createKafkaPublisher, ensureTopic } = await loaded(
    import('../sources/kafka/index.ts'),
    'Kafka',
    '@platformatic/kafka',
  )
  const { tls, sasl } = declaration
  const connection = {
    bootstrap,
    ...(tls !== undefined && { tls }),
    ...(sasl !== undefined && { sasl }),
  }
  return {
    source: createKafkaSource(declaration, { bootstrap, log: world.log }),
    ensureQueue: name => ensureTopic(connection, name),
    openPublisher: async () => createKafkaPublisher(connection),
  }
}

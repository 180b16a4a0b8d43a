import type { SourceDeclaration } from '../contract/contract.ts'
import { OncewardError } from '../errors.ts'
import type { TopicDeclaration } from '../sources/kafka/topic.ts'
import { importKafka } from './broker-clients.ts'
import type { Broker, BrokerAccess } from './open-source.ts'

/** Dead letters go to a topic of the same cluster, which must be there: its partitions and replicas are not ours to guess. */
export async function openKafka(
  source: SourceDeclaration,
  { kafkaBootstrap, world }: BrokerAccess,
): Promise<Broker> {
  const declaration = source as TopicDeclaration
  const bootstrap = declaration.bootstrap ?? kafkaBootstrap
  if (bootstrap === undefined) {
    throw new OncewardError(
      'configuration',
      'The contract reads from Kafka, but no address is known. Set ONCEWARD_KAFKA_BOOTSTRAP. Nothing was started.',
    )
  }
  const { createKafkaSource, createKafkaPublisher, ensureTopic } = await importKafka()
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

import { environmentName } from '../runtime/addresses.ts'
import { brokerSecurity } from '../runtime/broker-security.ts'

/** What the environment says about servers. Addresses carry secrets, so never argv. */
export function serverAddresses() {
  const { env } = process
  return {
    rabbitmqUrl: env.ONCEWARD_RABBITMQ_URL,
    rabbitmqStreamUrl: env.ONCEWARD_RABBITMQ_STREAM_URL,
    kafkaBootstrap: env.ONCEWARD_KAFKA_BOOTSTRAP,
    rabbitmqCluster: env.ONCEWARD_RABBITMQ_CLUSTER,
    kafkaCluster: env.ONCEWARD_KAFKA_CLUSTER,
    environment: environmentName(),
    ...brokerSecurity(env),
  }
}

import { brokerSecurity } from '../drivers/broker-security.ts'
import { environmentName } from '../runtime/addresses.ts'

/**
 * What the environment says about servers; an empty variable is not set. Addresses carry secrets, so never
 * argv.
 */
export function serverAddresses() {
  const { env } = process
  return {
    rabbitmqUrl: env.ONCEWARD_RABBITMQ_URL || undefined,
    rabbitmqStreamUrl: env.ONCEWARD_RABBITMQ_STREAM_URL || undefined,
    kafkaBootstrap: env.ONCEWARD_KAFKA_BOOTSTRAP || undefined,
    rabbitmqCluster: env.ONCEWARD_RABBITMQ_CLUSTER || undefined,
    kafkaCluster: env.ONCEWARD_KAFKA_CLUSTER || undefined,
    environment: environmentName(),
    ...brokerSecurity(env),
  }
}

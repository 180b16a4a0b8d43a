import { brokerSecurity } from '../drivers/broker-security.ts'
import { environmentName } from '../runtime/addresses.ts'

/**
 * Server addresses from the environment; an empty variable counts as unset. Addresses contain secrets, so
 * they are never passed as arguments.
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

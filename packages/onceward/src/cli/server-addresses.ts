import { brokerSecurity } from '../runtime/broker-security.ts'

/** What the environment says about servers. Addresses carry secrets, so never argv. */
export function serverAddresses() {
  const { env } = process
  return {
    rabbitmqUrl: env.ONCEWARD_RABBITMQ_URL,
    rabbitmqStreamUrl: env.ONCEWARD_RABBITMQ_STREAM_URL,
    kafkaBootstrap: env.ONCEWARD_KAFKA_BOOTSTRAP,
    environment: env.ONCEWARD_ENVIRONMENT,
    ...brokerSecurity(env),
  }
}

import type { BrokerSecurity } from './broker-security.ts'
import type { KafkaConnectionOptions } from './kafka/client/connection-options.ts'
import type { TopicDeclaration } from './kafka/topic.ts'
import type { BrokerTls } from './tls/broker-tls.ts'
import { withTls } from './tls/tls-url.ts'

interface Declared {
  readonly url?: string | undefined
  readonly tls?: BrokerTls | undefined
}

/**
 * The RabbitMQ URL with its TLS parameters. The contract takes precedence, then the URL itself, then the
 * environment.
 */
export function rabbitAddress(
  declared: Declared,
  otherwise: string | undefined,
  { rabbitmqTls }: BrokerSecurity,
): string | undefined {
  const url = declared.url ?? otherwise
  return url === undefined ? undefined : withTls(url, declared.tls, rabbitmqTls)
}

/** The Kafka address and credentials; null when no address is configured. */
export function kafkaAddress(
  declared: Partial<Pick<TopicDeclaration, 'bootstrap' | 'tls' | 'sasl'>>,
  otherwise: string | undefined,
  { kafkaTls, kafkaSasl }: BrokerSecurity,
): Pick<KafkaConnectionOptions, 'bootstrap' | 'tls' | 'sasl'> | null {
  const bootstrap = declared.bootstrap ?? otherwise
  const { tls = kafkaTls, sasl = kafkaSasl } = declared
  if (bootstrap === undefined) return null
  return { bootstrap, ...(tls !== undefined && { tls }), ...(sasl !== undefined && { sasl }) }
}

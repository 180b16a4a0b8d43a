import { kafkaAddress, rabbitAddress } from '../drivers/broker-addresses.ts'
import type { BrokerSecurity } from '../drivers/broker-security.ts'
import { assertUrl } from '../drivers/rabbitmq/address.ts'
import { inKeyOrder } from '../effects/publish/in-key-order.ts'
import { OncewardError } from '../errors.ts'
import type { OutgoingMessage, Publisher } from '../ports/publisher.ts'
import type { BrokerIdentity } from '../ports/source.ts'
import { importKafka, importRabbit } from './broker-clients.ts'

/** Brokers that relays publish to; rows for `cdc` are only removed after a time. */
export type RelayedBroker = 'kafka' | 'rabbitmq' | 'postgres' | 'cdc'

export interface PublisherAddresses extends BrokerSecurity {
  readonly rabbitmqUrl?: string | undefined
  readonly kafkaBootstrap?: string | undefined
  /**
   * Cluster names for these addresses, instead of those the brokers announce: part of a destination's name.
   */
  readonly rabbitmqCluster?: string | undefined
  readonly kafkaCluster?: string | undefined
}

export type OnPublisherBroker = (broker: BrokerIdentity) => Promise<void>

/** One error for all missing addresses, before anything is opened. */
export function assertAddresses(brokers: Iterable<string>, addresses: PublisherAddresses, who: string): void {
  const missing = [...brokers].flatMap(broker => {
    if (broker === 'rabbitmq' && !addresses.rabbitmqUrl) return ['RabbitMQ (ONCEWARD_RABBITMQ_URL)']
    return broker === 'kafka' && !addresses.kafkaBootstrap ? ['Kafka (ONCEWARD_KAFKA_BOOTSTRAP)'] : []
  })
  if (missing.length === 0) {
    if (addresses.rabbitmqUrl && [...brokers].includes('rabbitmq'))
      assertUrl(addresses.rabbitmqUrl, `${who} to RabbitMQ and`)
    return
  }
  throw new OncewardError(
    'configuration',
    `${who} to ${missing.join(' and ')}, but no address is configured. Set the variables in brackets. Nothing was started.`,
  )
}

/** Connects with the first message; `onBroker` verifies the cluster of each connection. */
export async function openPublisher(
  broker: 'rabbitmq' | 'kafka',
  addresses: PublisherAddresses,
  onBroker: OnPublisherBroker,
): Promise<Publisher> {
  if (broker === 'rabbitmq')
    return openRabbitPublisher(rabbitAddress({}, addresses.rabbitmqUrl, addresses)!, onBroker)
  const { createKafkaPublisher } = await importKafka()
  return createKafkaPublisher({ ...kafkaAddress({}, addresses.kafkaBootstrap, addresses)!, onBroker })
}

export async function openRabbitPublisher(url: string, onBroker: OnPublisherBroker): Promise<Publisher> {
  const { createRabbitPublisher } = await importRabbit()
  const publisher = createRabbitPublisher({ url, onBroker })
  return inKeyOrder({
    publish: messages => publisher.publish(messages.map(toRabbit)),
    connect: () => publisher.connect(),
    close: () => publisher.close(),
  })
}

function toRabbit({ exchange, queue, ...message }: OutgoingMessage) {
  return exchange === null ? { ...message, queue } : { ...message, exchange, routingKey: queue }
}

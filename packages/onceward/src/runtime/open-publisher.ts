import { inKeyOrder } from '../effects/publish/in-key-order.ts'
import type { OutgoingMessage, Publisher } from '../effects/publish/publisher.ts'
import { OncewardError } from '../errors.ts'
import { kafkaAddress, rabbitAddress } from './broker-addresses.ts'
import { importKafka, importRabbit } from './broker-clients.ts'
import type { BrokerSecurity } from './broker-security.ts'

/** Brokers that rows of the outbox are carried to; those for `cdc` only grow old. */
export type RelayedBroker = 'kafka' | 'rabbitmq' | 'postgres' | 'cdc'

export interface PublisherAddresses extends BrokerSecurity {
  readonly rabbitmqUrl?: string | undefined
  readonly kafkaBootstrap?: string | undefined
}

/** One error for all addresses that are missing, before anything is opened. */
export function assertAddresses(brokers: Iterable<string>, addresses: PublisherAddresses, who: string): void {
  const missing = [...brokers].flatMap(broker => {
    if (broker === 'rabbitmq' && !addresses.rabbitmqUrl) return ['RabbitMQ (ONCEWARD_RABBITMQ_URL)']
    return broker === 'kafka' && !addresses.kafkaBootstrap ? ['Kafka (ONCEWARD_KAFKA_BOOTSTRAP)'] : []
  })
  if (missing.length === 0) return
  throw new OncewardError(
    'configuration',
    `${who} to ${missing.join(' and ')}, but no address is known. Set what stands in brackets. Nothing was started.`,
  )
}

/** Connects with the first message; a broker that is away only keeps the rows waiting. */
export async function openPublisher(
  broker: Exclude<RelayedBroker, 'cdc'>,
  addresses: PublisherAddresses,
): Promise<Publisher | 'same database'> {
  if (broker === 'postgres') return 'same database'
  if (broker === 'rabbitmq') return openRabbitPublisher(rabbitAddress({}, addresses.rabbitmqUrl, addresses)!)
  const { createKafkaPublisher } = await importKafka()
  return createKafkaPublisher(kafkaAddress({}, addresses.kafkaBootstrap, addresses)!)
}

export async function openRabbitPublisher(url: string): Promise<Publisher> {
  const { createRabbitPublisher } = await importRabbit()
  const publisher = createRabbitPublisher({ url })
  return inKeyOrder({
    publish: messages => publisher.publish(messages.map(toRabbit)),
    close: () => publisher.close(),
  })
}

function toRabbit({ exchange, queue, ...message }: OutgoingMessage) {
  return exchange === null ? { ...message, queue } : { ...message, exchange, routingKey: queue }
}

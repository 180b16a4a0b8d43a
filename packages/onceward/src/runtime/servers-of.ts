import type { Consumer } from '../contract/define-consumer.ts'
import { firstUrl, hostsOf } from '../ports/broker-url.ts'
import type { Server } from './reach-servers.ts'

export interface BrokerAddresses {
  readonly rabbitmqUrl?: string | undefined
  readonly rabbitmqStreamUrl?: string | undefined
  readonly kafkaBootstrap?: string | undefined
}

/**
 * Brokers a consumer needs at start: the one it reads, and the one for its dead letters. The driver reports
 * an invalid address.
 */
export function serversOf(
  { source, failure }: Pick<Consumer, 'source' | 'failure'>,
  addresses: BrokerAddresses,
): readonly Server[] {
  const { url, bootstrap } = source as { url?: string; bootstrap?: string }
  switch (source.kind) {
    case 'rabbitmq':
      return rabbitmq('RabbitMQ', url ?? addresses.rabbitmqUrl)
    case 'rabbitmq-stream':
      return [
        ...rabbitmq("RabbitMQ's stream port", url ?? addresses.rabbitmqStreamUrl),
        ...(failure.deadLetter === null ? [] : rabbitmq('RabbitMQ', addresses.rabbitmqUrl)),
      ]
    case 'kafka':
      return kafka(bootstrap ?? addresses.kafkaBootstrap)
    default:
      return []
  }
}

const ports: Readonly<Record<string, number>> = {
  'amqp:': 5672,
  'amqps:': 5671,
  'rabbitmq-stream:': 5552,
  'rabbitmq-stream+tls:': 5551,
}

export function rabbitmq(name: string, url: string | undefined): readonly Server[] {
  const usual = ports[firstUrl(url ?? '')?.protocol ?? '']
  return usual === undefined ? [] : [{ name, addresses: hostsOf(url!, usual) }]
}

export function kafka(bootstrap: string | undefined): readonly Server[] {
  const addresses = (bootstrap ?? '').split(',').flatMap(entry => {
    const [, host, port] = /^(\[[0-9a-f:.]+\]|[^\s:/@[\]]+):(\d{1,5})$/i.exec(entry.trim()) ?? []
    return host === undefined || Number(port) > 65_535
      ? []
      : [{ host: host.replace(/^\[|\]$/g, ''), port: Number(port) }]
  })
  return addresses.length === 0 ? [] : [{ name: 'Kafka', addresses }]
}

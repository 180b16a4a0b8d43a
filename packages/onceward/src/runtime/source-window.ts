import type { SourceDeclaration } from '../contract/contract.ts'
import type { SourceWindow } from '../contract/needed-retention.ts'
import { queueWindow, streamWindow, topicWindow } from '../contract/source-windows.ts'
import { kafkaAddress, rabbitAddress } from '../drivers/broker-addresses.ts'
import type { BrokerSecurity } from '../drivers/broker-security.ts'
import type { TopicDeclaration } from '../drivers/kafka/topic.ts'
import type { BrokerTls } from '../drivers/tls/broker-tls.ts'
import { errorText, OncewardError } from '../errors.ts'
import type { BrokerAccess } from './open-source.ts'

type Addresses = BrokerSecurity & Pick<BrokerAccess, 'rabbitmqUrl' | 'rabbitmqStreamUrl' | 'kafkaBootstrap'>

/**
 * Asks the broker how long it may redeliver a message. Never rejects: a window that cannot be read must be
 * declared.
 */
export async function readSourceWindow(
  declaration: SourceDeclaration,
  access: Addresses,
): Promise<SourceWindow> {
  try {
    switch (declaration.kind) {
      case 'kafka':
        return await ofTopic(declaration as TopicDeclaration, access)
      case 'rabbitmq':
        return await ofQueue(declaration as SourceDeclaration & WindowedQueue, access)
      case 'rabbitmq-stream':
        return await ofStream(declaration as SourceDeclaration & WindowedStream, access)
      case 'postgres':
        return {
          unknown: 'a queue on PostgreSQL keeps a message until it is settled, however long that takes',
        }
      default:
        return { unknown: `a source of kind ${declaration.kind} cannot be asked` }
    }
  } catch (error) {
    const unknown = errorText(error, 500)
    return isTrouble(error) ? { unknown, trouble: error } : { unknown }
  }
}

/** Excludes missing rights: then the window must be declared. */
function isTrouble(error: unknown): error is OncewardError {
  return (
    error instanceof OncewardError && (error.code === 'broker_unreachable' || error.details?.kind === 'topic')
  )
}

async function ofTopic(declaration: TopicDeclaration, access: Addresses): Promise<SourceWindow> {
  const { topic } = declaration
  const connection = kafkaAddress(declaration, access.kafkaBootstrap, access)
  if (connection === null) return { unknown: 'no address of Kafka is known' }
  const { topicRetentionMs } = await import('../drivers/kafka/topic-retention.ts')
  return topicWindow(topic, await topicRetentionMs(connection, topic))
}

interface RabbitDeclaration {
  readonly url?: string
  readonly tls?: BrokerTls
  readonly managementUrl?: string
}

interface WindowedQueue extends RabbitDeclaration {
  readonly queue: string
  readonly arguments?: Record<string, unknown>
}

interface WindowedStream extends RabbitDeclaration {
  readonly stream: string
  readonly superStream?: boolean
}

async function ofQueue(declaration: WindowedQueue, access: Addresses): Promise<SourceWindow> {
  const { queue } = declaration
  const own = declaration.arguments?.['x-message-ttl']
  const asked = await ask(declaration, queue, rabbitAddress(declaration, access.rabbitmqUrl, access))
  const ttl = 'known' in asked ? (asked.known.messageTtl ?? own) : own
  if (typeof ttl !== 'number' && 'unknown' in asked) return { unknown: asked.unknown }
  return queueWindow(queue, ttl)
}

/** The broker of the source; the other address may be another cluster. */
async function ofStream(declaration: WindowedStream, access: Addresses): Promise<SourceWindow> {
  const { stream, superStream } = declaration
  const url = rabbitAddress(declaration, access.rabbitmqStreamUrl ?? access.rabbitmqUrl, access)
  const asked = await ask(declaration, superStream ? `${stream}-0` : stream, url)
  return 'unknown' in asked ? asked : streamWindow(stream, asked.known.maxAge)
}

async function ask({ managementUrl }: RabbitDeclaration, queue: string, url: string | undefined) {
  if (url === undefined) return { unknown: 'no address of RabbitMQ is known' }
  const { askQueue } = await import('../drivers/rabbitmq/management.ts')
  return askQueue(managementUrl, url, queue)
}

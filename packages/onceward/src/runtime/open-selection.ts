import type { Consumer } from '../contract/define-consumer.ts'
import type { SqlTransaction } from '../contract/handler.ts'
import { kafkaAddress, rabbitAddress } from '../drivers/broker-addresses.ts'
import type { BrokerSecurity } from '../drivers/broker-security.ts'
import type { TopicDeclaration } from '../drivers/kafka/topic.ts'
import { HeldRangeReader } from '../drivers/postgres/campaign/held-range-reader.ts'
import type { StreamDeclaration } from '../drivers/rabbitmq-stream/stream.ts'
import { OncewardError } from '../errors.ts'
import type { RangeReader } from '../ports/range-reader.ts'
import type { Selection } from '../replay/campaign/selection.ts'
import type { BrokerAccess } from './open-source.ts'

type Access = BrokerSecurity & Pick<BrokerAccess, 'pool' | 'kafkaBootstrap' | 'rabbitmqStreamUrl'>

/**
 * Opens a reader for a selection. It joins no consumer group and changes no position of the live consumer.
 */
export async function openSelection(
  selection: Selection,
  consumer: Consumer<unknown, SqlTransaction>,
  access: Access,
): Promise<RangeReader> {
  if (selection.of === 'held') return new HeldRangeReader(access.pool, consumer, selection.states)
  if (selection.of === 'parked')
    throw new OncewardError('usage', 'Parked messages are redriven in place, not read. Nothing was read.')
  if (selection.of === 'archive')
    throw new OncewardError(
      'usage',
      "An archive is read from the files listed in the campaign's plan. Nothing was read.",
    )
  if (selection.of === 'file') return openFiles(selection.path)
  const { source } = consumer
  switch (source.kind) {
    case 'kafka':
      return openTopic(source as TopicDeclaration, consumer, access)
    case 'rabbitmq-stream':
      return openStream(source as StreamDeclaration, consumer, access)
    case 'file':
      return openFiles((source as typeof source & { pattern: string }).pattern)
    default:
      throw new OncewardError(
        'usage',
        `Consumer ${consumer.name} reads from ${source.kind}, which keeps no history: a queue discards acknowledged messages. Nothing was read. Replay from a file, or from held messages.`,
      )
  }
}

async function openFiles(path: string): Promise<RangeReader> {
  const { FileRangeReader } = await import('../drivers/file/file-range-reader.ts')
  return new FileRangeReader(path)
}

async function openTopic(
  declaration: TopicDeclaration,
  { name, generation }: Consumer<unknown, SqlTransaction>,
  access: Access,
): Promise<RangeReader> {
  const { topic, isolation = 'committed', group = `${name}.${generation}` } = declaration
  const connection = kafkaAddress(declaration, access.kafkaBootstrap, access)
  if (connection === null)
    throw new OncewardError(
      'configuration',
      'The contract reads from Kafka, but no address is configured. Set ONCEWARD_KAFKA_BOOTSTRAP. Nothing was read.',
    )
  const { KafkaRangeReader } = await import('../drivers/kafka/kafka-range-reader.ts')
  return new KafkaRangeReader({ topic, isolation, group, clientId: 'onceward-replay', ...connection })
}

async function openStream(
  { stream, superStream = false, url, tls, group }: StreamDeclaration,
  { name, generation }: Consumer<unknown, SqlTransaction>,
  access: Access,
): Promise<RangeReader> {
  const { StreamRangeReader } = await import('../drivers/rabbitmq-stream/stream-range-reader.ts')
  return new StreamRangeReader({
    stream,
    superStream,
    url: rabbitAddress({ url, tls }, access.rabbitmqStreamUrl, access),
    group: group ?? (generation === 1 ? name : `${name}-${generation}`),
  })
}

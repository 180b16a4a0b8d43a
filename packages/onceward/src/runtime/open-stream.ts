import type { SourceDeclaration } from '../contract/contract.ts'
import { createStreamSource, type StreamDeclaration } from '../sources/rabbitmq-stream/index.ts'
import { addressMissing, type Broker, type BrokerAccess } from './broker.ts'
import { openRabbitLetters } from './open-rabbitmq.ts'

/** Dead letters of a stream go to a queue of the same broker: each is work for somebody, and a queue forgets what is done. */
export async function openStream(source: SourceDeclaration, access: BrokerAccess): Promise<Broker> {
  const declaration = source as StreamDeclaration
  const url = declaration.url ?? access.streamUrl
  if (url === undefined) throw addressMissing('a RabbitMQ stream', 'ONCEWARD_STREAM_URL')
  return {
    source: createStreamSource(declaration, { url }),
    ensureQueue: async name => (await openRabbitLetters(access)).ensureQueue(name),
    openPublisher: async () => (await openRabbitLetters(access)).openPublisher(),
  }
}

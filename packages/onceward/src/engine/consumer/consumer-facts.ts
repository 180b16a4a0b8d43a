import type { SourceDeclaration } from '../../contract/contract.ts'
import type { Consumer } from '../../contract/define-consumer.ts'
import type { Mode } from '../../contract/handler.ts'
import type { BrokerIdentity } from '../../ports/source.ts'
import type { ConsumerFacts, Destinations, Reading } from '../../ports/store.ts'
import type { TopicLimits } from '../../ports/topic-limits.ts'
import { progressOf } from './checkpoints.ts'

/** Where the broker addresses of this process lead. */
export interface Addressing {
  /** Of the source; '' where its broker has none. */
  readonly virtualHost: string
  readonly destinations: Destinations
  /** Without credentials, by kind of broker; of those that were used. */
  readonly addresses: Destinations
  /** What the Kafka topics of `destinations` take. Absent where this process is not connected there. */
  readonly topicLimits?: TopicLimits | undefined
  /** Called on each connection of the source, before anything is taken. Where it rejects nothing is. */
  confirm(broker: BrokerIdentity): Promise<void>
}

/** What the store has to know of a consumer before it takes a message. */
export function consumerFacts<M, Tx>(
  consumer: Consumer<M, Tx>,
  mode: Mode,
  instance: string,
  addressing?: Addressing,
): ConsumerFacts {
  const { name, generation, owner, risk, handlerVersion, dedup, batch, failure, source } = consumer
  return {
    name,
    generation,
    owner,
    risk,
    mode,
    handlerVersion,
    instance,
    dedup,
    handlerTimeoutMs: batch.handlerTimeoutMs,
    deliveriesMax: batch.deliveriesMax,
    ...readingOf(consumer, addressing?.virtualHost),
    ...(addressing && { destinations: addressing.destinations, addresses: addressing.addresses }),
    ...(addressing?.topicLimits && { topicLimits: addressing.topicLimits }),
    deadLetterTo:
      failure.deadLetter === null ? null : { broker: deadLetterBroker(source), queue: failure.deadLetter },
  }
}

/** Queues have one reader each, logs one per group; what has no name nobody else can read. */
export function readingOf<M, Tx>(
  consumer: Consumer<M, Tx>,
  virtualHost = '',
): { readonly reading?: Reading } {
  const { source, name, generation } = consumer
  const { kind, queue, topic, stream, pattern, group } = source as SourceDeclaration &
    Readonly<Record<'queue' | 'topic' | 'stream' | 'pattern' | 'group', string | undefined>>
  const log = topic ?? stream ?? pattern
  if (log === undefined)
    return queue === undefined
      ? {}
      : { reading: { kind, place: queue, virtualHost, reader: '', keeper: 'queue' } }
  const keeper = kind === 'file' || progressOf(consumer) !== 'broker' ? 'store' : 'broker'
  return { reading: { kind, place: log, virtualHost, reader: group ?? `${name}.${generation}`, keeper } }
}

/** Streams take no dead letters: those of a stream go to a queue of the same RabbitMQ. */
export function deadLetterBroker({ kind }: SourceDeclaration): string {
  return kind === 'rabbitmq-stream' ? 'rabbitmq' : kind
}

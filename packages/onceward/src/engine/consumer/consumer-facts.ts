import type { SourceDeclaration } from '../../contract/contract.ts'
import type { Consumer } from '../../contract/define-consumer.ts'
import type { Mode } from '../../contract/handler.ts'
import type { ConsumerFacts, Destinations, Reading } from '../../ports/enrolment.ts'
import type { BrokerIdentity } from '../../ports/source.ts'
import type { TopicLimits } from '../../ports/topic-limits.ts'
import { progressOf } from './checkpoints.ts'

/** The brokers that this process's addresses lead to. */
export interface Addressing {
  /** Of the source; '' if its broker has none. */
  readonly virtualHost: string
  readonly destinations: Destinations
  /** The addresses in use, by kind of broker, without credentials. */
  readonly addresses: Destinations
  /** Size limits of the Kafka topics in `destinations`. Absent if this process is not connected there. */
  readonly topicLimits?: TopicLimits | undefined
  /** Called on each connection of the source, before anything is received. If it rejects, nothing is. */
  confirm(broker: BrokerIdentity): Promise<void>
}

/** What the store needs to know about a consumer before its first message. */
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
    ...(consumer.evidence.receipts && { keepsReceipts: true }),
    ...readingOf(consumer, addressing?.virtualHost),
    ...(addressing && { destinations: addressing.destinations, addresses: addressing.addresses }),
    ...(addressing?.topicLimits && { topicLimits: addressing.topicLimits }),
    deadLetterTo:
      failure.deadLetter === null
        ? null
        : { broker: deadLetterBroker(source), queue: failure.deadLetter, owner: failure.deadLetterOwner },
  }
}

/** A queue has one reader, a log one per group. A source without a name cannot be shared. */
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

/** A stream cannot receive dead letters: they go to a queue of the same RabbitMQ. */
export function deadLetterBroker({ kind }: SourceDeclaration): string {
  return kind === 'rabbitmq-stream' ? 'rabbitmq' : kind
}

import type { SourceDeclaration } from '../contract/contract.ts'
import type { Consumer } from '../contract/define-consumer.ts'
import type { Mode } from '../contract/handler.ts'
import type { ConsumerFacts, Reading } from '../contracts/store.ts'
import { progressOf } from './checkpoints.ts'

/** What the store has to know of a consumer before it takes a message. */
export function consumerFacts<M, Tx>(consumer: Consumer<M, Tx>, mode: Mode, instance: string): ConsumerFacts {
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
    ...readingOf(consumer),
    deadLetterTo:
      failure.deadLetter === null ? null : { broker: deadLetterBroker(source), queue: failure.deadLetter },
  }
}

/** Queues have one reader each, logs one per group; what has no name nobody else can read. */
export function readingOf<M, Tx>(consumer: Consumer<M, Tx>): { readonly reading?: Reading } {
  const { source, name, generation } = consumer
  const { kind, queue, topic, stream, pattern, group } = source as SourceDeclaration &
    Readonly<Record<'queue' | 'topic' | 'stream' | 'pattern' | 'group', string | undefined>>
  const log = topic ?? stream ?? pattern
  if (log === undefined)
    return queue === undefined ? {} : { reading: { kind, place: queue, reader: '', keeper: 'queue' } }
  const keeper = kind === 'file' || progressOf(consumer) !== 'broker' ? 'store' : 'broker'
  return { reading: { kind, place: log, reader: group ?? `${name}.${generation}`, keeper } }
}

/** Streams take no dead letters: those of a stream go to a queue of the same RabbitMQ. */
export function deadLetterBroker({ kind }: SourceDeclaration): string {
  return kind === 'rabbitmq-stream' ? 'rabbitmq' : kind
}

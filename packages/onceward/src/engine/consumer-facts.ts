import type { Mode, SourceDeclaration } from '../contract/contract.ts'
import type { Consumer } from '../contract/define-consumer.ts'
import type { ConsumerFacts } from '../contracts/store.ts'

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
    deadLetterTo:
      failure.deadLetter === null ? null : { broker: deadLetterBroker(source), queue: failure.deadLetter },
  }
}

/** Streams take no dead letters: those of a stream go to a queue of the same RabbitMQ. */
export function deadLetterBroker({ kind }: SourceDeclaration): string {
  return kind === 'rabbitmq-stream' ? 'rabbitmq' : kind
}

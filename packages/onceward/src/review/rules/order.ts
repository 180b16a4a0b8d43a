import type { Consumer } from '../../contract/define-consumer.ts'
import type { Rule } from '../rule.ts'

interface Declared {
  readonly kind: string
  readonly singleActiveConsumer?: boolean
  readonly keyOrder?: boolean
  readonly superStream?: boolean
  readonly singleActive?: boolean
}

const guardsVersions = ({ effect }: Consumer) =>
  effect?.apply?.kind === 'projection' || effect?.apply?.kind === 'transition'

export const orderRules: readonly Rule<Consumer>[] = [
  {
    id: 'OW111',
    severity: 'error',
    title: 'The source can keep the declared order',
    reason: 'Such a contract is refused at start: two processes would handle messages of one key at once.',
    fix: 'Declare the queue with singleActiveConsumer (RabbitMQ) or keyOrder (PostgreSQL), the stream without singleActive: false, or read from a log.',
    judge: consumer => {
      const source = consumer.source as Declared
      const { order, dedup, settle, identity } = consumer
      const isQueue = source.kind === 'rabbitmq' || source.kind === 'postgres'
      const keepsKeys = isQueue
        ? source.singleActiveConsumer === true || source.keyOrder === true
        : source.singleActive !== false
      const found: string[] = []
      if (order === 'key' && !keepsKeys) found.push(`order 'key' on a ${source.kind} source declared without`)
      if (order === 'partition' && (isQueue || source.singleActive === false))
        found.push(`order 'partition' on a ${source.kind} source`)
      if (isQueue && dedup === 'checkpoint') found.push(`dedup 'checkpoint' on a queue`)
      if (isQueue && settle.when === 'with effect') found.push(`settle.when 'with effect' on a queue`)
      if (isQueue && identity.id === 'position') found.push(`identity.id 'position' on a queue`)
      return found
    },
  },
  {
    id: 'OW112',
    severity: 'warning',
    title: 'Versions are guarded, or messages arrive in order',
    reason:
      'Without order an older state may overwrite a newer one; the contract has the version, and a plain handler does not compare it.',
    fix: "Use effect.apply: projection({ … }), set order: 'key' with identity.orderKey, or compare the version in the handler's own statement.",
    judge: consumer =>
      consumer.identity.aggregateVersion !== undefined &&
      consumer.order === 'none' &&
      !guardsVersions(consumer)
        ? `identity.aggregateVersion with order 'none' and a handler`
        : null,
  },
  {
    id: 'OW113',
    severity: 'note',
    title: 'Order is kept per key, not over all messages',
    reason:
      'One lane handles one batch at a time: more processes do not help, and one message can block all.',
    fix: "Use order: 'key', or a super stream with several partitions.",
    judge: consumer => {
      const { kind, superStream } = consumer.source as Declared
      return consumer.order === 'partition' && kind === 'rabbitmq-stream' && superStream !== true
        ? `order 'partition' on a stream that is one partition`
        : null
    },
  },
]

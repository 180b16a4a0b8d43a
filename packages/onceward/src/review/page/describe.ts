import type { From, SourceDeclaration } from '../../contract/contract.ts'
import type { ExternalTarget } from '../../contract/external-target.ts'
import type { PublishTarget } from '../../contract/publish-target.ts'

/** The place that an identity is read from. */
export function describeFrom(from: From<never, never> | From<never> | 'position' | 'content'): string {
  if (from === 'position') return 'position in the log'
  if (from === 'content') return 'digest of the content'
  if (typeof from !== 'function')
    return 'header' in from ? `header ${from.header}` : `property ${from.property}`
  const [, field] = /^\(?\s*(?:\w+)\s*\)?\s*=>\s*\w+((?:\??\.\w+)+)\s*$/.exec(String(from)) ?? []
  return field === undefined ? 'computed from the message' : field.replaceAll('?', '').slice(1)
}

const sourceWords: Readonly<Record<string, string>> = {
  rabbitmq: 'RabbitMQ queue',
  'rabbitmq-stream': 'RabbitMQ stream',
  kafka: 'Kafka topic',
  postgres: 'PostgreSQL queue',
  file: 'files',
}

/** The source without its address, which may carry a password. */
export function describeSource(source: SourceDeclaration): { readonly kind: string; readonly name: string } {
  const { queue, topic, stream, pattern } = source as {
    queue?: string
    topic?: string
    stream?: string
    pattern?: string
  }
  return {
    kind: sourceWords[source.kind] ?? source.kind,
    name: String(queue ?? topic ?? stream ?? pattern ?? ''),
  }
}

export function describeGroup(source: SourceDeclaration, name: string, generation: number): string {
  const { group } = source as { group?: string }
  switch (source.kind) {
    case 'kafka':
      return group ?? `${name}.${generation}`
    case 'rabbitmq-stream':
      return group ?? (generation === 1 ? name : `${name}-${generation}`)
    case 'file':
      return 'none: one process reads at a time'
    default:
      return 'none: processes share the queue'
  }
}

/** The host that a target reaches, without the rest of its address. */
export function describeTarget(target: ExternalTarget): string {
  switch (target.kind) {
    case 'email':
      return `mail by ${target.host}`
    case 'custom':
      return 'a call in code'
    default: {
      const url = URL.canParse(target.url) ? new URL(target.url).host : 'an address'
      return target.kind === 'webhook' ? `webhook of ${url}` : `HTTP call of ${url}`
    }
  }
}

export function describePublish(target: PublishTarget): string {
  const to =
    'topic' in target
      ? target.topic
      : 'queue' in target
        ? target.queue
        : `${target.exchange} with ${target.routingKey || 'no routing key'}`
  return `${target.broker} ${to}`
}

import type { SourceDeclaration } from '../../contract/contract.ts'
import type { Consumer } from '../../contract/define-consumer.ts'
import { isTransform } from '../../contract/define-transform.ts'
import type { PublishPlace } from '../../contract/publish-target.ts'
import type { ClusterState } from '../../drivers/kafka/describe-cluster.ts'
import type { BrokerState } from '../../drivers/rabbitmq/describe-broker.ts'
import { levelQueue } from '../../ports/retry-levels.ts'
import { reach } from '../dead-letter-route.ts'
import type { Rule } from '../rule.ts'

/** A destination of a contract's messages, other than its source. */
export interface DeclaredOutlet<Place extends PublishPlace = PublishPlace> {
  /** The setting that names it. */
  readonly setting: string
  readonly place: Place
}

export type RabbitPlace = Extract<PublishPlace, { broker: 'rabbitmq' }>
export type KafkaPlace = Extract<PublishPlace, { topic: string }>

/** The consumer creates queues for dead letters and retries, but no topics. */
export function outletsOf(consumer: Consumer): DeclaredOutlet[] {
  const { source, effect, failure } = consumer
  const published = Object.entries(effect?.publish ?? {}).map(([name, place]) => ({
    setting: `effect.publish.${name}`,
    place,
  }))
  if (source.kind !== 'kafka') return published
  const { topic } = source as SourceDeclaration & { readonly topic: string }
  const to = (setting: string, name: string) => ({
    setting,
    place: { broker: 'kafka', topic: name } as const,
  })
  return [
    ...published,
    ...(isTransform(consumer) ? consumer.to.map(name => to('to', name)) : []),
    ...(failure.deadLetter === null ? [] : [to('failure.deadLetter', failure.deadLetter)]),
    ...failure.retryLevelsMs.map(levelMs => to('failure.mode', levelQueue(topic, levelMs))),
  ]
}

export interface RabbitOutletSubject {
  readonly outlet: DeclaredOutlet<RabbitPlace>
  readonly broker: BrokerState
}

export const rabbitOutletRules: readonly Rule<RabbitOutletSubject>[] = [
  {
    id: 'OW214',
    severity: 'error',
    title: 'Published messages reach a queue',
    reason: 'RabbitMQ returns messages that no queue takes; their rows wait in the outbox until one does.',
    fix: 'Create the queue, or the exchange with a binding that takes the key, or correct the name.',
    judge: ({ outlet: { setting, place }, broker: { queues, topology } }) => {
      if ('queue' in place)
        return queues.has(place.queue) ? null : `${setting}: queue ${place.queue} does not exist`
      if (topology === null) return null
      const { exchange, routingKey } = place
      if (exchange !== '' && !topology.exchanges.has(exchange))
        return `${setting}: exchange ${exchange} does not exist`
      return reach(exchange, routingKey, topology, new Set(queues.keys())).length > 0
        ? null
        : `${setting}: exchange "${exchange}" has no queue that takes key "${routingKey}"`
    },
  },
]

export interface KafkaOutletSubject {
  readonly outlet: DeclaredOutlet<KafkaPlace>
  readonly cluster: ClusterState
}

export const kafkaOutletRules: readonly Rule<KafkaOutletSubject>[] = [
  {
    id: 'OW314',
    severity: 'error',
    title: 'Topics that are written to exist',
    reason:
      'Onceward creates no topics: a consumer does not start without the one for its dead letters or retries, and its published messages wait in the outbox.',
    fix: 'Create the topic with its partitions and replicas, or correct the name.',
    judge: ({ outlet: { setting, place }, cluster }) =>
      cluster.topics.has(place.topic) ? null : `${setting}: topic ${place.topic} does not exist`,
  },
]

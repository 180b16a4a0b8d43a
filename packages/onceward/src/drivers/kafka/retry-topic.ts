import { fromStoredJson } from '../../message/stored-json.ts'
import { levelQueue, retryHeader } from '../../ports/retry-levels.ts'
import type { Delivery, DeliveryProperties, Source } from '../../ports/source.ts'
import { DelayedSubscription } from '../log/delayed-subscription.ts'
import { createKafkaSource, type KafkaSourceOptions } from './source.ts'
import type { TopicDeclaration } from './topic.ts'

/**
 * A delay level of a topic. A separate group reads it, so waiting records never delay the topic's members.
 * The group starts at the beginning, because every record was written for this consumer.
 */
export function createRetryTopicSource(
  declaration: TopicDeclaration,
  levelMs: number,
  options: KafkaSourceOptions = {},
): Source {
  const topic = levelQueue(declaration.topic, levelMs)
  const { name, capabilities } = createKafkaSource({ ...declaration, topic }, options)
  return {
    name,
    capabilities,
    open: async openOptions => {
      const { consumer } = openOptions.log
      const group = levelGroup(declaration, levelMs, consumer)
      const level: TopicDeclaration = { ...declaration, topic, group, start: 'earliest' }
      return new DelayedSubscription(await createKafkaSource(level, options).open(openOptions), {
        delayMs: levelMs,
        restore: delivery => asFirstRead(delivery, declaration.topic),
        wallMs: () => Date.now(),
        steadyMs: () => performance.now(),
        after: (delayMs, callback) => {
          const timer = setTimeout(callback, delayMs)
          return () => clearTimeout(timer)
        },
      })
    },
  }
}

export function levelGroup(
  { group }: Pick<TopicDeclaration, 'group'>,
  levelMs: number,
  { name, generation }: { readonly name: string; readonly generation: number },
): string {
  return levelQueue(group ?? `${name}.${generation}`, levelMs)
}

/**
 * Restores the record as first read, at its new position. A record that is not one of our copies is delivered
 * unchanged.
 */
function asFirstRead(delivery: Delivery, topic: string): Delivery {
  const table = tableOf(delivery.headers[retryHeader])
  if (table === null || table.queue !== topic || !isTable(table.headers) || !isTable(table.properties))
    return delivery
  const text = (value: unknown) => (typeof value === 'string' ? value : null)
  const { body, partition, redelivered, deliveryCount, token } = delivery
  return {
    body,
    headers: table.headers,
    properties: table.properties as DeliveryProperties,
    origin: text(table.origin) ?? delivery.origin,
    position: text(table.position),
    key: text(table.key),
    partition,
    redelivered,
    deliveryCount,
    token,
    get place() {
      return delivery.place
    },
  }
}

function tableOf(bytes: unknown): Readonly<Record<string, unknown>> | null {
  if (!(bytes instanceof Uint8Array)) return null
  try {
    const table: unknown = fromStoredJson(Buffer.from(bytes).toString('utf8'))
    return isTable(table) ? table : null
  } catch {
    return null
  }
}

function isTable(value: unknown): value is Readonly<Record<string, unknown>> {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}

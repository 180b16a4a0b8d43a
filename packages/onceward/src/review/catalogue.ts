import type { Consumer } from '../contract/define-consumer.ts'
import type { Rule, RuleText } from './rule.ts'
import { effectRules } from './rules/effects.ts'
import { failureRules } from './rules/failure.ts'
import { identityRules } from './rules/identity.ts'
import { rulesOfTheCheck } from './rules/itself.ts'
import { kafkaRules } from './rules/kafka.ts'
import { memoryRules } from './rules/memory.ts'
import { messageRules } from './rules/message.ts'
import { operationRules } from './rules/operation.ts'
import { orderRules } from './rules/order.ts'
import { kafkaOutletRules, rabbitOutletRules } from './rules/outlets.ts'
import { postgresRules } from './rules/postgres.ts'
import { rabbitRules } from './rules/rabbitmq.ts'
import { retentionRules } from './rules/retention.ts'
import { sampleRules } from './rules/samples.ts'
import { schemaRules } from './rules/schema.ts'
import { severalRules } from './rules/several.ts'
import { streamRules } from './rules/stream.ts'
import { timingRules } from './rules/timing.ts'
import { transformRules } from './rules/transform.ts'

/** Rules about one contract without servers. */
export const contractRules: readonly Rule<Consumer>[] = [
  ...identityRules,
  ...orderRules,
  ...effectRules,
  ...failureRules,
  ...messageRules,
  ...timingRules,
  ...retentionRules,
  ...operationRules,
]

/** Where a rule gets its facts; the sections of docs/checks.md. */
export type Topic =
  | 'contract'
  | 'samples'
  | 'contracts together'
  | 'RabbitMQ'
  | 'Kafka'
  | 'PostgreSQL'
  | 'schema registry'
  | 'memory'
  | 'the check itself'

const topics: readonly (readonly [Topic, readonly RuleText[]])[] = [
  ['contract', [...contractRules, ...transformRules]],
  ['samples', sampleRules],
  ['contracts together', severalRules],
  ['RabbitMQ', [...rabbitRules, ...streamRules, ...rabbitOutletRules]],
  ['Kafka', [...kafkaRules, ...kafkaOutletRules]],
  ['PostgreSQL', postgresRules],
  ['schema registry', schemaRules],
  ['memory', memoryRules],
  ['the check itself', rulesOfTheCheck],
]

/** All rules, by topic. */
export const catalogue: readonly (RuleText & { readonly topic: Topic })[] = topics.flatMap(([topic, rules]) =>
  rules.map(({ id, severity, title, reason, fix }) => ({ id, severity, title, reason, fix, topic })),
)

const liveTopics: ReadonlySet<Topic> = new Set([
  'RabbitMQ',
  'Kafka',
  'PostgreSQL',
  'schema registry',
  'memory',
])

/** Rules that need a server. */
export const liveIds: ReadonlySet<string> = new Set(
  catalogue.filter(rule => liveTopics.has(rule.topic)).map(rule => rule.id),
)

import { bySource, type MetricSpec } from '../metric-spec.ts'

/** Durations in seconds. */
export const durations = {
  insertLatency: {
    name: 'onceward.inbox.insert.duration',
    kind: 'histogram',
    unit: 's',
    labels: ['consumer'],
    description: 'Time to insert the markers of a batch',
  },
  applyLatency: {
    name: 'onceward.consumer.handler.duration',
    kind: 'histogram',
    unit: 's',
    labels: ['consumer'],
    description:
      'Time of a handler call: of each message with `handle`, of the whole batch with `handleBatch` and declared effects',
  },
  processDuration: {
    name: 'messaging.process.duration',
    kind: 'histogram',
    unit: 's',
    labels: [...bySource, 'stage', 'messaging.system', 'messaging.operation.name'],
    fixed: { 'messaging.operation.name': 'process' },
    description:
      'Processing time of each message: of its own call with `handle` and in transforms, 0 if it was not called; with `handleBatch`, declared effects and in stage enqueue from the start of its batch to the commit. Stage is inline, enqueue or work',
  },
  settleDuration: {
    name: 'messaging.client.operation.duration',
    kind: 'histogram',
    unit: 's',
    labels: ['consumer', 'messaging.system', 'messaging.operation.name'],
    fixed: { 'messaging.operation.name': 'settle' },
    description: 'Time to acknowledge a batch after its commit',
  },
  callDuration: {
    name: 'onceward.external.call.duration',
    kind: 'histogram',
    unit: 's',
    labels: ['consumer', 'target'],
    description: 'Time that a call to an external target took',
  },
} as const satisfies Record<string, MetricSpec>

/**
 * The source, its progress, and how far behind the consumer is. Broker lag is what waits at the broker.
 * Effect lag is the age of what is not applied.
 */
export const source = {
  lag: {
    name: 'onceward.consumer.lag.messages',
    kind: 'gauge',
    unit: '{message}',
    labels: ['consumer', 'partition'],
    description: 'Broker lag: records of a partition, or messages of a queue, that are not applied',
  },
  effectLag: {
    name: 'onceward.consumer.effect_lag',
    kind: 'gauge',
    unit: 's',
    labels: ['consumer', 'partition'],
    description: 'Effect lag: age of the oldest record that was received and is not applied',
  },
  stalled: {
    name: 'onceward.consumer.stalled',
    kind: 'gauge',
    unit: 's',
    labels: ['consumer'],
    description:
      'Time since the last delivery while messages wait, or since the broker last answered; 0 otherwise',
  },
  checkpointAge: {
    name: 'onceward.consumer.checkpoint.age',
    kind: 'gauge',
    unit: 's',
    labels: ['consumer', 'partition'],
    description: 'Time since the stored position of a partition last moved',
  },
  waitingPartitions: {
    name: 'onceward.consumer.waiting.partitions',
    kind: 'gauge',
    unit: '{partition}',
    labels: ['consumer'],
    description:
      'Partitions that were added to a topic and are not read until the earlier ones are drained, to keep the order of keys',
  },
  positionCommits: {
    name: 'onceward.consumer.offset.commits',
    kind: 'counter',
    unit: '{commit}',
    labels: ['consumer', 'status'],
    description:
      'Commits of log positions at the broker, of a transform its transactions; status is success or failure',
  },
  settleMissed: {
    name: 'onceward.consumer.ack.failures',
    kind: 'counter',
    unit: '{failure}',
    labels: ['consumer'],
    description:
      'Durable effects whose acknowledgement failed; the broker redelivers the messages and the consumer recognises them',
  },
  commitFailures: {
    name: 'onceward.consumer.commit.failures',
    kind: 'counter',
    unit: '{failure}',
    labels: ['consumer', 'reason'],
    description: 'Transactions that did not commit and were run again',
  },
  sourceEvents: {
    name: 'onceward.consumer.source.events',
    kind: 'counter',
    unit: '{event}',
    labels: ['consumer', 'kind'],
    description:
      'Connection events: connected, disconnected, cancelled, timed_out, assigned, revoked, degraded, restored, warning',
  },
  losses: {
    name: 'onceward.consumer.open.losses',
    kind: 'gauge',
    unit: '{loss}',
    labels: ['consumer'],
    description:
      'Losses in a log that no operator has accepted, of any consumer of the database: a consumer that finds one halts',
  },
  pauses: {
    name: 'onceward.consumer.pauses',
    kind: 'counter',
    unit: '{pause}',
    labels: ['consumer'],
    description: 'Times the source was paused because a dependency was unavailable',
  },
  brakes: {
    name: 'onceward.consumer.brakes',
    kind: 'counter',
    unit: '{brake}',
    labels: ['consumer'],
    description: 'Times an event type was paused because most of its messages failed for one cause',
  },
  braked: {
    name: 'onceward.consumer.braked',
    kind: 'gauge',
    unit: '',
    labels: ['consumer', 'type', 'cause', 'version'],
    description:
      '1 while an event type is paused because most of its messages fail for one cause under this handler version',
  },
  paused: {
    name: 'onceward.consumer.paused',
    kind: 'gauge',
    unit: '',
    labels: ['consumer'],
    description: '1 while the source is paused because a dependency is unavailable',
  },
  up: {
    name: 'onceward.consumer.up',
    kind: 'gauge',
    unit: '',
    labels: ['consumer'],
    description:
      '1 while the consumer takes messages, 0 while its source is unavailable and once it has halted',
  },
  info: {
    name: 'onceward.consumer.info',
    kind: 'gauge',
    unit: '',
    labels: ['consumer', 'owner', 'risk'],
    description: 'Always 1; its labels name the owner and the risk of the consumer',
  },
} as const satisfies Record<string, MetricSpec>

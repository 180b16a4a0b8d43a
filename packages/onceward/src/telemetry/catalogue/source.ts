import { byMessage, type MetricSpec } from '../metric-spec.ts'

/** How long things take, in seconds. */
export const durations = {
  insertLatency: {
    name: 'onceward.inbox.insert.duration',
    kind: 'histogram',
    unit: 's',
    labels: ['consumer'],
    description: 'Time to claim a batch in the inbox',
  },
  applyLatency: {
    name: 'onceward.consumer.handler.duration',
    kind: 'histogram',
    unit: 's',
    labels: ['consumer'],
    description: 'Time the handlers of a batch took',
  },
  processDuration: {
    name: 'messaging.process.duration',
    kind: 'histogram',
    unit: 's',
    labels: [...byMessage, 'stage', 'messaging.system', 'messaging.operation.name'],
    fixed: { 'messaging.operation.name': 'process' },
    description:
      'Time from the start of a batch to its decision, commit included; stage is inline, enqueue or work',
  },
  settleDuration: {
    name: 'messaging.client.operation.duration',
    kind: 'histogram',
    unit: 's',
    labels: ['consumer', 'messaging.system', 'messaging.operation.name'],
    fixed: { 'messaging.operation.name': 'settle' },
    description: 'Time to tell the broker of a batch, after the commit',
  },
  callDuration: {
    name: 'onceward.external.call.duration',
    kind: 'histogram',
    unit: 's',
    labels: ['consumer', 'target'],
    description: 'Time a call to an external target took',
  },
} as const satisfies Record<string, MetricSpec>

/**
 * The source, its progress, and how far behind the consumer is. Broker lag is what waits there; effect lag is
 * what is not applied.
 */
export const source = {
  lag: {
    name: 'onceward.consumer.lag.messages',
    kind: 'gauge',
    unit: '{message}',
    labels: ['consumer', 'partition'],
    description: 'Broker lag: records of a partition, or messages of a queue, that are not applied yet',
  },
  effectLag: {
    name: 'onceward.consumer.effect_lag',
    kind: 'gauge',
    unit: 's',
    labels: ['consumer', 'partition'],
    description: 'Effect lag: age of the oldest record received and not applied',
  },
  stalled: {
    name: 'onceward.consumer.stalled',
    kind: 'gauge',
    unit: 's',
    labels: ['consumer'],
    description:
      'Time since the last delivery while something is known to wait, or since the broker last answered; 0 while all is well',
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
      'Partitions that were added to a topic and wait, for the order of keys, until those before them are drained',
  },
  positionCommits: {
    name: 'onceward.consumer.offset.commits',
    kind: 'counter',
    unit: '{commit}',
    labels: ['consumer', 'status'],
    description: 'Positions of a log told to its broker; status is success or failure',
  },
  settleMissed: {
    name: 'onceward.consumer.ack.failures',
    kind: 'counter',
    unit: '{failure}',
    labels: ['consumer'],
    description: 'Durable effects the broker could not be told of; they come again and are recognised',
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
      'Changes of the connection: connected, disconnected, cancelled, timed_out, assigned, revoked, degraded, restored, warning',
  },
  losses: {
    name: 'onceward.consumer.open.losses',
    kind: 'gauge',
    unit: '{loss}',
    labels: ['consumer'],
    description: 'Gaps in a log that nobody has accepted yet',
  },
  pauses: {
    name: 'onceward.consumer.pauses',
    kind: 'counter',
    unit: '{pause}',
    labels: ['consumer'],
    description: 'Times the source was paused because the downstream was away',
  },
  paused: {
    name: 'onceward.consumer.paused',
    kind: 'gauge',
    unit: '',
    labels: ['consumer'],
    description: '1 while the source is paused because the downstream is away',
  },
  up: {
    name: 'onceward.consumer.up',
    kind: 'gauge',
    unit: '',
    labels: ['consumer'],
    description: '1 while the consumer takes messages, 0 while its source is away and once it has halted',
  },
  info: {
    name: 'onceward.consumer.info',
    kind: 'gauge',
    unit: '',
    labels: ['consumer', 'owner', 'risk'],
    description: 'Always 1; says whose consumer it is',
  },
} as const satisfies Record<string, MetricSpec>

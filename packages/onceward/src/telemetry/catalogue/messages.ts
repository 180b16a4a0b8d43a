import { byMessage, type MetricSpec } from '../metric-spec.ts'

/** Deliveries and their outcomes. */
export const messages = {
  deliveries: {
    name: 'messaging.client.consumed.messages',
    kind: 'counter',
    unit: '{message}',
    labels: [...byMessage, 'messaging.system', 'messaging.destination.name', 'messaging.operation.name'],
    fixed: { 'messaging.operation.name': 'receive' },
    description: 'Deliveries received from the broker',
  },
  redelivered: {
    name: 'onceward.consumer.redelivered.messages',
    kind: 'counter',
    unit: '{message}',
    labels: byMessage,
    description: 'Deliveries the broker marked as redelivered',
  },
  redeliveredOften: {
    name: 'onceward.consumer.redelivered.often',
    kind: 'counter',
    unit: '{delivery}',
    labels: ['consumer'],
    description:
      'Deliveries of messages that the broker delivered at least `failure.redelivery.countMax` times before',
  },
  outcomes: {
    name: 'onceward.consumer.outcomes',
    kind: 'counter',
    unit: '{outcome}',
    labels: [...byMessage, 'outcome', 'type'],
    description: 'Deliveries by durable outcome; type is one that the contract lists, else other',
  },
  applied: {
    name: 'onceward.consumer.applied.messages',
    kind: 'counter',
    unit: '{message}',
    labels: byMessage,
    description: 'Messages whose effect was applied for the first time',
  },
  duplicates: {
    name: 'onceward.consumer.duplicates',
    kind: 'counter',
    unit: '{duplicate}',
    labels: byMessage,
    description: 'Duplicates that the consumer recognised and skipped',
  },
  conflicts: {
    name: 'onceward.consumer.conflicts',
    kind: 'counter',
    unit: '{conflict}',
    labels: byMessage,
    description: 'Messages with a known id and different content',
  },
  inserts: {
    name: 'onceward.inbox.inserted.markers',
    kind: 'counter',
    unit: '{marker}',
    labels: byMessage,
    description: 'Markers committed: messages seen for the first time',
  },
  replayed: {
    name: 'onceward.consumer.replayed.messages',
    kind: 'counter',
    unit: '{message}',
    labels: byMessage,
    description: 'Messages processed in a mode other than live',
  },
  skips: {
    name: 'onceward.effect.skips',
    kind: 'counter',
    unit: '{skip}',
    labels: [...byMessage, 'reason'],
    description:
      'Effects that were skipped because of the marker, the business key, the version, the effect’s own result, or a business conflict that counts as success',
  },
  results: {
    name: 'onceward.effect.results',
    kind: 'counter',
    unit: '{result}',
    labels: [...byMessage, 'code'],
    description: 'Messages by the result of their declared effect',
  },
} as const satisfies Record<string, MetricSpec>

/** Failures of messages. `class` is a failure class of the contract, `verdict`, `order` or `unclassified`. */
export const failures = {
  failures: {
    name: 'onceward.consumer.failed.attempts',
    kind: 'counter',
    unit: '{attempt}',
    labels: [...byMessage, 'class'],
    description: 'Failed attempts, by failure class',
  },
  retries: {
    name: 'onceward.consumer.retries',
    kind: 'counter',
    unit: '{retry}',
    labels: [...byMessage, 'class'],
    description: 'Failed attempts that will be retried',
  },
  setAside: {
    name: 'onceward.consumer.set_aside.messages',
    kind: 'counter',
    unit: '{message}',
    labels: [...byMessage, 'outcome', 'class'],
    description: 'Messages parked, dead-lettered or quarantined',
  },
  exhausted: {
    name: 'onceward.consumer.exhausted.messages',
    kind: 'counter',
    unit: '{message}',
    labels: [...byMessage, 'class'],
    description: 'Messages set aside after their last attempt',
  },
  unreadable: {
    name: 'onceward.consumer.unreadable.messages',
    kind: 'counter',
    unit: '{message}',
    labels: [...byMessage, 'reason'],
    description: 'Messages that cannot be read because of bytes, limits, schema, type, version or identity',
  },
  poison: {
    name: 'onceward.consumer.poison.messages',
    kind: 'counter',
    unit: '{message}',
    labels: [...byMessage, 'reason'],
    description:
      'Messages set aside because they cannot succeed: unreadable, failing the same way every time, or crashing their process',
  },
  suspects: {
    name: 'onceward.consumer.crash_suspects',
    kind: 'counter',
    unit: '{crash_suspect}',
    labels: ['consumer'],
    description: 'Messages handled alone or in small groups after a process crashed',
  },
  parkedSuspects: {
    name: 'onceward.consumer.parked.crash_suspects',
    kind: 'counter',
    unit: '{crash_suspect}',
    labels: ['consumer'],
    description: 'Messages parked because the process crashed while handling them',
  },
} as const satisfies Record<string, MetricSpec>

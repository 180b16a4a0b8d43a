import { byMessage, bySource, type MetricSpec } from '../metric-spec.ts'

/** Deliveries and their outcomes. */
export const messages = {
  deliveries: {
    name: 'messaging.client.consumed.messages',
    kind: 'counter',
    unit: '{message}',
    labels: [...bySource, 'messaging.system', 'messaging.operation.name'],
    fixed: { 'messaging.operation.name': 'receive' },
    description:
      'Deliveries received from the broker and read; type is one that the contract lists, else other',
  },
  redelivered: {
    name: 'onceward.consumer.redelivered.messages',
    kind: 'counter',
    unit: '{message}',
    labels: byMessage,
    description: 'Deliveries the broker marked as redelivered',
  },
  redeliveredOften: {
    name: 'onceward.consumer.repeated.deliveries',
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
    labels: [...bySource, 'outcome'],
    description:
      'Deliveries by durable outcome; a message set aside because of its bytes counts as deserialization_failure or schema_incompatible',
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
    labels: bySource,
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
    labels: [...bySource, 'reason'],
    description:
      'Effects that were skipped because of the marker, the business key, the version, the effect’s own result, or a business conflict that counts as success',
  },
  results: {
    name: 'onceward.effect.results',
    kind: 'counter',
    unit: '{result}',
    labels: [...bySource, 'code'],
    description: 'Messages by the result of their declared effect',
  },
} as const satisfies Record<string, MetricSpec>

/** Failures of messages. `class` is a failure class of the contract, `verdict`, `order` or `unclassified`. */
export const failures = {
  failures: {
    name: 'onceward.consumer.failed.attempts',
    kind: 'counter',
    unit: '{attempt}',
    labels: [...bySource, 'class'],
    description: 'Failed attempts, by failure class',
  },
  retries: {
    name: 'onceward.consumer.retries',
    kind: 'counter',
    unit: '{retry}',
    labels: [...bySource, 'class', 'reason'],
    description: 'Failed attempts that will be retried; reason is the code of the failure',
  },
  setAside: {
    name: 'onceward.consumer.set_aside.messages',
    kind: 'counter',
    unit: '{message}',
    labels: [...bySource, 'outcome', 'class', 'reason'],
    description: 'Messages parked, dead-lettered or quarantined; reason is the code of the failure',
  },
  deadLetters: {
    name: 'onceward.consumer.dead_letters',
    kind: 'counter',
    unit: '{dead_letter}',
    labels: [...bySource, 'outcome', 'class', 'reason'],
    description: 'Messages copied to the dead-letter destination, of every outcome',
  },
  exhausted: {
    name: 'onceward.consumer.exhausted.messages',
    kind: 'counter',
    unit: '{message}',
    labels: [...bySource, 'class'],
    description: 'Messages set aside after their last attempt',
  },
  unreadable: {
    name: 'onceward.consumer.unreadable.messages',
    kind: 'counter',
    unit: '{message}',
    labels: [...bySource, 'reason'],
    description: 'Messages that cannot be read because of bytes, limits, schema, type, version or identity',
  },
  poison: {
    name: 'onceward.consumer.poison.messages',
    kind: 'counter',
    unit: '{message}',
    labels: [...bySource, 'reason'],
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

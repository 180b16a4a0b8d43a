import { byMessage, type MetricSpec } from '../metric-spec.ts'

/** Deliveries and what became of them. */
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
  outcomes: {
    name: 'onceward.consumer.outcomes',
    kind: 'counter',
    unit: '{outcome}',
    labels: [...byMessage, 'outcome', 'type'],
    description: 'Deliveries by outcome, durable ones only; type is one the contract lists',
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
    description: 'Duplicates skipped safely',
  },
  conflicts: {
    name: 'onceward.consumer.conflicts',
    kind: 'counter',
    unit: '{conflict}',
    labels: byMessage,
    description: 'Same identity, other content',
  },
  inserts: {
    name: 'onceward.inbox.inserted.markers',
    kind: 'counter',
    unit: '{marker}',
    labels: byMessage,
    description: 'Messages seen for the first time: markers written and committed',
  },
  replayed: {
    name: 'onceward.consumer.replayed.messages',
    kind: 'counter',
    unit: '{message}',
    labels: byMessage,
    description: 'Messages decided in another mode than live',
  },
  skips: {
    name: 'onceward.effect.skips',
    kind: 'counter',
    unit: '{skip}',
    labels: [...byMessage, 'reason'],
    description:
      'Effects not repeated: by the marker, the business key, the version, or the word of the effect',
  },
  results: {
    name: 'onceward.effect.results',
    kind: 'counter',
    unit: '{result}',
    labels: [...byMessage, 'code'],
    description: 'Messages by what the declared effect said of them',
  },
} as const satisfies Record<string, MetricSpec>

/**
 * What went wrong with messages. `class` is a failure class of the contract, `verdict`, `order` or
 * `unclassified`.
 */
export const failures = {
  failures: {
    name: 'onceward.consumer.failed.attempts',
    kind: 'counter',
    unit: '{attempt}',
    labels: [...byMessage, 'class'],
    description: 'Attempts that failed, by failure class',
  },
  retries: {
    name: 'onceward.consumer.retries',
    kind: 'counter',
    unit: '{retry}',
    labels: [...byMessage, 'class'],
    description: 'Failed attempts that are followed by another',
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
    description: 'Messages that cannot be read: bytes, limits, schema, type, version or identity',
  },
  poison: {
    name: 'onceward.consumer.poison.messages',
    kind: 'counter',
    unit: '{message}',
    labels: [...byMessage, 'reason'],
    description:
      'Messages set aside because they cannot succeed: unreadable, always failing alike, or deadly',
  },
  suspects: {
    name: 'onceward.consumer.crash_suspects',
    kind: 'counter',
    unit: '{crash_suspect}',
    labels: ['consumer'],
    description: 'Messages taken alone or in small groups after a process died',
  },
  parkedSuspects: {
    name: 'onceward.consumer.parked.crash_suspects',
    kind: 'counter',
    unit: '{crash_suspect}',
    labels: ['consumer'],
    description: 'Messages parked because their process died over them',
  },
} as const satisfies Record<string, MetricSpec>

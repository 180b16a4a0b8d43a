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
    name: 'consumer.redelivered',
    kind: 'counter',
    unit: '{message}',
    labels: byMessage,
    description: 'Deliveries the broker marked as redelivered',
  },
  outcomes: {
    name: 'consumer.outcomes',
    kind: 'counter',
    unit: '{message}',
    labels: [...byMessage, 'outcome', 'type'],
    description: 'Deliveries by outcome, durable ones only; type is one the contract lists',
  },
  processed: {
    name: 'consumer.processed',
    kind: 'counter',
    unit: '{message}',
    labels: byMessage,
    description: 'Messages whose effect was applied for the first time',
  },
  duplicates: {
    name: 'consumer.duplicates',
    kind: 'counter',
    unit: '{message}',
    labels: byMessage,
    description: 'Duplicates skipped safely',
  },
  conflicts: {
    name: 'consumer.duplicate_conflicts',
    kind: 'counter',
    unit: '{message}',
    labels: byMessage,
    description: 'Same identity, other content',
  },
  inserts: {
    name: 'consumer.inbox.inserts',
    kind: 'counter',
    unit: '{message}',
    labels: byMessage,
    description: 'Messages seen for the first time: markers written and committed',
  },
  replayed: {
    name: 'consumer.replay.messages',
    kind: 'counter',
    unit: '{message}',
    labels: byMessage,
    description: 'Messages decided in another mode than live',
  },
  skips: {
    name: 'consumer.effect.skips',
    kind: 'counter',
    unit: '{message}',
    labels: [...byMessage, 'reason'],
    description:
      'Effects not repeated: by the marker, the business key, the version, or the word of the effect',
  },
  results: {
    name: 'consumer.effect.results',
    kind: 'counter',
    unit: '{message}',
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
    name: 'consumer.effect.failures',
    kind: 'counter',
    unit: '{message}',
    labels: [...byMessage, 'class'],
    description: 'Attempts that failed, by failure class',
  },
  retries: {
    name: 'consumer.retries',
    kind: 'counter',
    unit: '{message}',
    labels: [...byMessage, 'class'],
    description: 'Failed attempts that are followed by another',
  },
  setAside: {
    name: 'consumer.set_aside',
    kind: 'counter',
    unit: '{message}',
    labels: [...byMessage, 'outcome', 'class'],
    description: 'Messages parked, dead-lettered or quarantined',
  },
  exhausted: {
    name: 'consumer.retries.exhausted',
    kind: 'counter',
    unit: '{message}',
    labels: [...byMessage, 'class'],
    description: 'Messages set aside after their last attempt',
  },
  unreadable: {
    name: 'consumer.deserialization.failures',
    kind: 'counter',
    unit: '{message}',
    labels: [...byMessage, 'reason'],
    description: 'Messages that cannot be read: bytes, limits, schema, type, version or identity',
  },
  poison: {
    name: 'consumer.poison.detected',
    kind: 'counter',
    unit: '{message}',
    labels: [...byMessage, 'reason'],
    description:
      'Messages set aside because they cannot succeed: unreadable, always failing alike, or deadly',
  },
  suspects: {
    name: 'consumer.suspects',
    kind: 'counter',
    unit: '{message}',
    labels: ['consumer'],
    description: 'Messages taken alone or in small groups after a process died',
  },
  killers: {
    name: 'consumer.killers',
    kind: 'counter',
    unit: '{message}',
    labels: ['consumer'],
    description: 'Messages parked because their process died over them',
  },
} as const satisfies Record<string, MetricSpec>

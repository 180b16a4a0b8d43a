import { byMessage, bySource, type MetricSpec } from '../metric-spec.ts'

/** Work held in the store, for workers or for people. */
export const held = {
  leases: {
    name: 'onceward.work.leases',
    kind: 'counter',
    unit: '{lease}',
    labels: ['consumer'],
    description: 'Leases of held work that workers took',
  },
  leasesExpired: {
    name: 'onceward.work.expired.leases',
    kind: 'counter',
    unit: '{lease}',
    labels: ['consumer'],
    description: 'Leases that expired and that another worker took over',
  },
  leasesLost: {
    name: 'onceward.work.lost.leases',
    kind: 'counter',
    unit: '{lease}',
    labels: ['consumer'],
    description: 'Leases that a worker lost to another worker because they expired',
  },
  held: {
    name: 'onceward.work.messages',
    kind: 'gauge',
    unit: '{message}',
    labels: ['consumer', 'state'],
    description:
      'Held messages by state: stored, waiting, parked, dead, quarantined; counted up to 100,000 each',
  },
  heldOldest: {
    name: 'onceward.work.oldest.age',
    kind: 'gauge',
    unit: 's',
    labels: ['consumer'],
    description:
      'Age of the oldest held message that is not processed and waits for no person; 0 if there is none',
  },
  heldStuck: {
    name: 'onceward.work.stuck.messages',
    kind: 'gauge',
    unit: '{message}',
    labels: ['consumer'],
    description: 'Held messages whose lease expired and that no worker has leased again',
  },
  attention: {
    name: 'onceward.consumer.attention.messages',
    kind: 'gauge',
    unit: '{message}',
    labels: ['consumer', 'reason', 'class'],
    description:
      'Messages that wait for a person now. Each has one reason: unreadable, conflict, poison, exhausted, corrupt, quarantined or set aside. Messages parked behind another are not counted',
  },
  attentionOldest: {
    name: 'onceward.consumer.attention.oldest.age',
    kind: 'gauge',
    unit: 's',
    labels: ['consumer', 'reason'],
    description: 'How long the oldest of these messages has been held; 0 if none waits',
  },
  gaugesAge: {
    name: 'onceward.consumer.gauges.age',
    kind: 'gauge',
    unit: 's',
    labels: ['consumer'],
    description:
      'Age of the values read from the database. Those gauges are absent above the allowed age (15 s); this one is not',
  },
  parkingUsed: {
    name: 'onceward.parking.used',
    kind: 'gauge',
    unit: '1',
    labels: ['consumer', 'cap'],
    description:
      'Ratio of the parking cap in use; cap is total, or key for the fullest of the blocked keys examined',
  },
  parkingFull: {
    name: 'onceward.parking.delayed.batches',
    kind: 'counter',
    unit: '{batch}',
    labels: ['consumer'],
    description: 'Batches in which messages waited because the parking lot was full',
  },
} as const satisfies Record<string, MetricSpec>

/** External effects and outgoing messages. */
export const effects = {
  calls: {
    name: 'onceward.external.calls',
    kind: 'counter',
    unit: '{call}',
    labels: ['consumer', 'target', 'result'],
    description: 'Calls to external targets by result',
  },
  suppressed: {
    name: 'onceward.external.suppressed.effects',
    kind: 'counter',
    unit: '{effect}',
    labels: [...byMessage, 'reason'],
    description: 'External effects that were not requested again, as duplicates or because of the mode',
  },
  ledger: {
    name: 'onceward.external.open.effects',
    kind: 'gauge',
    unit: '{effect}',
    labels: ['consumer', 'target', 'state'],
    description: 'External effects that are not completed, by state; counted up to 100,000 each',
  },
  ledgerOldest: {
    name: 'onceward.external.oldest.age',
    kind: 'gauge',
    unit: 's',
    labels: ['consumer', 'target'],
    description: 'Age of the oldest external effect that is not completed',
  },
  published: {
    name: 'messaging.client.sent.messages',
    kind: 'counter',
    unit: '{message}',
    labels: ['broker', 'messaging.system', 'messaging.operation.name'],
    fixed: { 'messaging.operation.name': 'send' },
    description: 'Messages of the outbox, and outputs of transforms, that a broker confirmed',
  },
  publishFailures: {
    name: 'onceward.outbox.publish.failures',
    kind: 'counter',
    unit: '{failure}',
    labels: ['broker', 'code'],
    description: 'Failed publications of outbox messages, by error code',
  },
  publishSuppressed: {
    name: 'onceward.outbox.suppressed.messages',
    kind: 'counter',
    unit: '{message}',
    labels: byMessage,
    description: 'Messages that were not published because of the mode',
  },
  outboxSize: {
    name: 'onceward.outbox.messages',
    kind: 'gauge',
    unit: '{message}',
    labels: ['broker', 'destination'],
    description: 'Messages in the outbox that are not published, counted up to 100,000',
  },
  outboxOldest: {
    name: 'onceward.outbox.oldest.age',
    kind: 'gauge',
    unit: 's',
    labels: ['broker', 'destination'],
    description: 'Age of the oldest message in the outbox that is not published',
  },
  outboxFailing: {
    name: 'onceward.outbox.failing.keys',
    kind: 'gauge',
    unit: '{key}',
    labels: ['broker', 'destination'],
    description: 'Keys that wait behind a message that the broker rejects',
  },
  outboxBehind: {
    name: 'onceward.outbox.blocked.messages',
    kind: 'gauge',
    unit: '{message}',
    labels: ['broker', 'destination'],
    description: 'Messages that wait behind a message of their key that the broker rejects',
  },
  heldUnserved: {
    name: 'onceward.work.unserved.messages',
    kind: 'gauge',
    unit: '{message}',
    labels: ['waits.for'],
    description:
      'Acknowledged messages of all consumers of the database that no worker processes: no worker of their name and generation runs, or the approval of their campaign has expired; counted up to 100,000',
  },
  outboxUnserved: {
    name: 'onceward.outbox.unserved.messages',
    kind: 'gauge',
    unit: '{message}',
    labels: ['broker', 'destination'],
    description: 'Messages for a destination that no live relay is connected to, counted up to 100,000',
  },
} as const satisfies Record<string, MetricSpec>

/** Retention and campaigns. */
export const memory = {
  horizonAge: {
    name: 'onceward.retention.horizon.age',
    kind: 'gauge',
    unit: 's',
    labels: ['consumer'],
    description: 'Age of the horizon, before which markers were removed; absent if none was ever removed',
  },
  keep: {
    name: 'onceward.retention.keep',
    kind: 'gauge',
    unit: 's',
    labels: ['consumer', 'kind'],
    description: 'How long the contract keeps each kind of row',
  },
  removed: {
    name: 'onceward.retention.removed.rows',
    kind: 'gauge',
    unit: '{row}',
    labels: ['consumer', 'kind'],
    description: 'Rows that retention removed so far, by all processes',
  },
  overdue: {
    name: 'onceward.retention.overdue',
    kind: 'gauge',
    unit: 's',
    labels: ['consumer'],
    description: 'How late the next retention pass is; 0 if in time',
  },
  behindHorizon: {
    name: 'onceward.retention.behind_horizon.messages',
    kind: 'counter',
    unit: '{message}',
    labels: bySource,
    description: 'Messages older than the horizon, whose markers may have been removed',
  },
  campaigns: {
    name: 'onceward.replay.campaigns',
    kind: 'gauge',
    unit: '{campaign}',
    labels: ['consumer', 'mode', 'state'],
    description: 'Open campaigns, by state',
  },
  campaignDone: {
    name: 'onceward.replay.progress',
    kind: 'gauge',
    unit: '1',
    labels: ['consumer', 'mode'],
    description: 'Ratio of its ranges that a running campaign has processed; the lowest of several campaigns',
  },
} as const satisfies Record<string, MetricSpec>

import { byMessage, type MetricSpec } from '../metric-spec.ts'

/** Work kept in the store: to be done, or waiting for people. */
export const held = {
  leases: {
    name: 'onceward.work.leases',
    kind: 'counter',
    unit: '{lease}',
    labels: ['consumer'],
    description: 'Held work taken up by workers',
  },
  leasesExpired: {
    name: 'onceward.work.expired.leases',
    kind: 'counter',
    unit: '{lease}',
    labels: ['consumer'],
    description: 'Held work taken over because its lease ran out',
  },
  leasesLost: {
    name: 'onceward.work.lost.leases',
    kind: 'counter',
    unit: '{lease}',
    labels: ['consumer'],
    description: 'Held work lost to another worker because the lease ran out',
  },
  held: {
    name: 'onceward.work.messages',
    kind: 'gauge',
    unit: '{message}',
    labels: ['consumer', 'state'],
    description: 'Held work by state: stored, waiting, parked, dead, quarantined; counted up to 100,000 each',
  },
  heldOldest: {
    name: 'onceward.work.oldest.age',
    kind: 'gauge',
    unit: 's',
    labels: ['consumer'],
    description: 'Age of the oldest held work that is not done and waits for no person; 0 when there is none',
  },
  heldStuck: {
    name: 'onceward.work.stuck.messages',
    kind: 'gauge',
    unit: '{message}',
    labels: ['consumer'],
    description: 'Held work whose worker let the lease run out and that nobody has taken yet',
  },
  attention: {
    name: 'onceward.consumer.attention.messages',
    kind: 'gauge',
    unit: '{message}',
    labels: ['consumer', 'reason', 'class'],
    description:
      'Messages that wait for a person now. Each counts under one reason: unreadable, conflict, poison, exhausted, quarantined or set aside; messages parked behind another are not counted',
  },
  attentionOldest: {
    name: 'onceward.consumer.attention.oldest.age',
    kind: 'gauge',
    unit: 's',
    labels: ['consumer', 'reason'],
    description: 'How long the oldest of these messages has been kept; 0 when none waits',
  },
  gaugesAge: {
    name: 'onceward.consumer.gauges.age',
    kind: 'gauge',
    unit: 's',
    labels: ['consumer'],
    description:
      'Age of what the gauges read from the database show. They are absent once it passes the allowed age (15 s); this one is not',
  },
  parkingUsed: {
    name: 'onceward.parking.used',
    kind: 'gauge',
    unit: '1',
    labels: ['consumer', 'cap'],
    description:
      'Share of the parking cap in use; cap is total, or key for the fullest of the blocked keys looked at',
  },
  parkingFull: {
    name: 'onceward.parking.delayed.batches',
    kind: 'counter',
    unit: '{batch}',
    labels: ['consumer'],
    description: 'Batches in which messages waited because the parking lot is full',
  },
} as const satisfies Record<string, MetricSpec>

/** External effects and messages on their way out. */
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
    description: 'External effects not requested again: duplicate, or because of the mode',
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
    description: 'Messages of the outbox a broker has confirmed',
  },
  publishFailures: {
    name: 'onceward.outbox.publish.failures',
    kind: 'counter',
    unit: '{failure}',
    labels: ['broker', 'code'],
    description: 'Messages a broker did not take, by error code',
  },
  publishSuppressed: {
    name: 'onceward.outbox.suppressed.messages',
    kind: 'counter',
    unit: '{message}',
    labels: byMessage,
    description: 'Messages not published because of the mode',
  },
  outboxSize: {
    name: 'onceward.outbox.messages',
    kind: 'gauge',
    unit: '{message}',
    labels: ['broker', 'destination'],
    description: 'Messages that are not published, counted up to 100,000',
  },
  outboxOldest: {
    name: 'onceward.outbox.oldest.age',
    kind: 'gauge',
    unit: 's',
    labels: ['broker', 'destination'],
    description: 'Age of the oldest message that is not published',
  },
  outboxFailing: {
    name: 'onceward.outbox.failing.keys',
    kind: 'gauge',
    unit: '{key}',
    labels: ['broker', 'destination'],
    description: 'Keys that wait behind a message the broker does not take',
  },
  outboxBehind: {
    name: 'onceward.outbox.blocked.messages',
    kind: 'gauge',
    unit: '{message}',
    labels: ['broker', 'destination'],
    description: 'Messages that wait behind one of their key that the broker does not take',
  },
  heldUnserved: {
    name: 'onceward.work.unserved.messages',
    kind: 'gauge',
    unit: '{message}',
    labels: ['waits.for'],
    description:
      'Acknowledged messages of any consumer of the database that nobody works on: no worker of their name and generation runs, or the approval of their campaign has expired; counted up to 100,000',
  },
  outboxUnserved: {
    name: 'onceward.outbox.unserved.messages',
    kind: 'gauge',
    unit: '{message}',
    labels: ['broker', 'destination'],
    description: 'Messages for a destination that no live relay is connected to, counted up to 100,000',
  },
} as const satisfies Record<string, MetricSpec>

/** Memory and campaigns. */
export const memory = {
  horizonAge: {
    name: 'onceward.retention.horizon.age',
    kind: 'gauge',
    unit: 's',
    labels: ['consumer'],
    description: 'How far back markers reach; absent while none was ever removed',
  },
  keep: {
    name: 'onceward.retention.keep',
    kind: 'gauge',
    unit: 's',
    labels: ['consumer', 'kind'],
    description: 'How long each kind of memory is kept, as the contract says',
  },
  removed: {
    name: 'onceward.retention.removed.rows',
    kind: 'gauge',
    unit: '{row}',
    labels: ['consumer', 'kind'],
    description: 'Rows removed so far, by all processes',
  },
  overdue: {
    name: 'onceward.retention.overdue',
    kind: 'gauge',
    unit: 's',
    labels: ['consumer'],
    description: 'How long a pass of retention is late; 0 in time',
  },
  behindHorizon: {
    name: 'onceward.retention.behind_horizon.messages',
    kind: 'counter',
    unit: '{message}',
    labels: ['consumer'],
    description: 'Messages older than the markers that are left',
  },
  campaigns: {
    name: 'onceward.replay.campaigns',
    kind: 'gauge',
    unit: '{campaign}',
    labels: ['consumer', 'mode', 'state'],
    description: 'Campaigns that are not over, by state',
  },
  campaignDone: {
    name: 'onceward.replay.progress',
    kind: 'gauge',
    unit: '1',
    labels: ['consumer', 'mode'],
    description: 'Share of its ranges a running campaign is through; the least of several',
  },
} as const satisfies Record<string, MetricSpec>

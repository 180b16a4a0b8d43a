/** Everything a label may be called. Values are bounded: names of contracts, words of this code, partitions up to `partitionsMax`; never ids. */
export type Label =
  | 'consumer'
  | 'mode'
  | 'stage'
  | 'type'
  | 'outcome'
  | 'class'
  | 'reason'
  | 'code'
  | 'kind'
  | 'state'
  | 'status'
  | 'cap'
  | 'partition'
  | 'target'
  | 'result'
  | 'broker'
  | 'owner'
  | 'risk'
  | 'messaging.system'
  | 'messaging.destination.name'
  | 'messaging.operation.name'

/** A name of the source documents that a metric answers to, and the labels that narrow it down to exactly that. */
export interface SeedName {
  readonly from: '000 §22' | '001 §29' | '003 §19'
  readonly name: string
  readonly where?: Partial<Record<Label, string>>
}

export interface MetricSpec {
  readonly name: string
  readonly kind: 'counter' | 'histogram' | 'gauge'
  /** As OpenTelemetry writes units: `s`, `1` for shares and switches, `{message}` for things counted. */
  readonly unit: string
  readonly labels: readonly Label[]
  /** Labels that have one value. */
  readonly fixed?: Partial<Record<Label, string>>
  readonly description: string
  readonly seeds: readonly SeedName[]
}

const idempotency = (name: string, where?: SeedName['where']): SeedName => ({
  from: '000 §22',
  name,
  ...(where && { where }),
})
const delivery = (name: string, where?: SeedName['where']): SeedName => ({
  from: '001 §29',
  name,
  ...(where && { where }),
})
const state = (name: string, where?: SeedName['where']): SeedName => ({
  from: '003 §19',
  name,
  ...(where && { where }),
})

const byMessage = ['consumer', 'mode'] as const

/** Deliveries and what became of them. */
const messages = {
  deliveries: {
    name: 'messaging.client.consumed.messages',
    kind: 'counter',
    unit: '{message}',
    labels: [...byMessage, 'messaging.system', 'messaging.destination.name', 'messaging.operation.name'],
    fixed: { 'messaging.operation.name': 'receive' },
    description: 'Deliveries received from the broker',
    seeds: [
      idempotency('consumer.deliveries.total'),
      delivery('consumer.messages.received.total'),
      state('consumer.records.polled.count'),
    ],
  },
  redelivered: {
    name: 'consumer.redelivered',
    kind: 'counter',
    unit: '{message}',
    labels: byMessage,
    description: 'Deliveries the broker marked as redelivered',
    seeds: [idempotency('consumer.redelivered.total')],
  },
  outcomes: {
    name: 'consumer.outcomes',
    kind: 'counter',
    unit: '{message}',
    labels: [...byMessage, 'outcome', 'type'],
    description: 'Deliveries by outcome, durable ones only; type is one the contract lists',
    seeds: [
      delivery('consumer.messages.processed.total'),
      state('consumer.inbox.quarantined.count', { outcome: 'quarantined' }),
    ],
  },
  processed: {
    name: 'consumer.processed',
    kind: 'counter',
    unit: '{message}',
    labels: byMessage,
    description: 'Messages whose effect was applied for the first time',
    seeds: [idempotency('consumer.processed.total'), state('consumer.inbox.processed.count')],
  },
  duplicates: {
    name: 'consumer.duplicates',
    kind: 'counter',
    unit: '{message}',
    labels: byMessage,
    description: 'Duplicates skipped safely',
    seeds: [
      idempotency('consumer.duplicates.total'),
      delivery('consumer.duplicates.total'),
      state('consumer.inbox.duplicate.count'),
    ],
  },
  conflicts: {
    name: 'consumer.duplicate_conflicts',
    kind: 'counter',
    unit: '{message}',
    labels: byMessage,
    description: 'Same identity, other content',
    seeds: [idempotency('consumer.duplicate_conflicts.total')],
  },
  inserts: {
    name: 'consumer.inbox.inserts',
    kind: 'counter',
    unit: '{message}',
    labels: byMessage,
    description: 'Messages seen for the first time: markers written and committed',
    seeds: [state('consumer.inbox.insert.count')],
  },
  replayed: {
    name: 'consumer.replay.messages',
    kind: 'counter',
    unit: '{message}',
    labels: byMessage,
    description: 'Messages decided in another mode than live',
    seeds: [state('consumer.replay.mode.count')],
  },
  skips: {
    name: 'consumer.effect.skips',
    kind: 'counter',
    unit: '{message}',
    labels: [...byMessage, 'reason'],
    description:
      'Effects not repeated: by the marker, the business key, the version, or the word of the effect',
    seeds: [state('consumer.effect.idempotent_skip.count')],
  },
  results: {
    name: 'consumer.effect.results',
    kind: 'counter',
    unit: '{message}',
    labels: [...byMessage, 'code'],
    description: 'Messages by what the declared effect said of them',
    seeds: [],
  },
} as const satisfies Record<string, MetricSpec>

/** What went wrong with messages. `class` is a failure class of the contract, `verdict`, `order` or `unclassified`. */
const failures = {
  failures: {
    name: 'consumer.effect.failures',
    kind: 'counter',
    unit: '{message}',
    labels: [...byMessage, 'class'],
    description: 'Attempts that failed, by failure class',
    seeds: [state('consumer.effect.failure.count')],
  },
  retries: {
    name: 'consumer.retries',
    kind: 'counter',
    unit: '{message}',
    labels: [...byMessage, 'class'],
    description: 'Failed attempts that are followed by another',
    seeds: [delivery('consumer.retries.total'), state('consumer.inbox.retryable_failed.count')],
  },
  setAside: {
    name: 'consumer.set_aside',
    kind: 'counter',
    unit: '{message}',
    labels: [...byMessage, 'outcome', 'class'],
    description: 'Messages parked, dead-lettered or quarantined',
    seeds: [delivery('consumer.dlq.total', { outcome: 'dead-lettered' })],
  },
  exhausted: {
    name: 'consumer.retries.exhausted',
    kind: 'counter',
    unit: '{message}',
    labels: [...byMessage, 'class'],
    description: 'Messages set aside after their last attempt',
    seeds: [],
  },
  unreadable: {
    name: 'consumer.deserialization.failures',
    kind: 'counter',
    unit: '{message}',
    labels: [...byMessage, 'reason'],
    description: 'Messages that cannot be read: bytes, limits, schema, type, version or identity',
    seeds: [delivery('consumer.deserialization.failures.total')],
  },
  poison: {
    name: 'consumer.poison.detected',
    kind: 'counter',
    unit: '{message}',
    labels: [...byMessage, 'reason'],
    description:
      'Messages set aside because they cannot succeed: unreadable, always failing alike, or deadly',
    seeds: [delivery('consumer.poison.detected.total')],
  },
  suspects: {
    name: 'consumer.suspects',
    kind: 'counter',
    unit: '{message}',
    labels: ['consumer'],
    description: 'Messages taken alone after a process died',
    seeds: [],
  },
  killers: {
    name: 'consumer.killers',
    kind: 'counter',
    unit: '{message}',
    labels: ['consumer'],
    description: 'Messages parked because their process died over them',
    seeds: [],
  },
} as const satisfies Record<string, MetricSpec>

/** How long things take, in seconds. */
const durations = {
  insertLatency: {
    name: 'consumer.inbox.insert.latency',
    kind: 'histogram',
    unit: 's',
    labels: ['consumer'],
    description: 'Time to claim a batch in the inbox',
    seeds: [idempotency('consumer.inbox.insert.latency')],
  },
  applyLatency: {
    name: 'consumer.business.apply.latency',
    kind: 'histogram',
    unit: 's',
    labels: ['consumer'],
    description: 'Time the handlers of a batch took',
    seeds: [idempotency('consumer.business.apply.latency')],
  },
  processDuration: {
    name: 'messaging.process.duration',
    kind: 'histogram',
    unit: 's',
    labels: [...byMessage, 'stage', 'messaging.system', 'messaging.operation.name'],
    fixed: { 'messaging.operation.name': 'process' },
    description:
      'Time from the start of a batch to its decision, commit included; stage is whole, store or work',
    seeds: [
      delivery('consumer.processing.duration'),
      state('consumer.inbox.processing.duration.ms', { stage: 'work' }),
    ],
  },
  settleDuration: {
    name: 'messaging.client.operation.duration',
    kind: 'histogram',
    unit: 's',
    labels: ['consumer', 'messaging.system', 'messaging.operation.name'],
    fixed: { 'messaging.operation.name': 'settle' },
    description: 'Time to tell the broker of a batch, after the commit',
    seeds: [],
  },
  callDuration: {
    name: 'external.call.duration',
    kind: 'histogram',
    unit: 's',
    labels: ['consumer', 'target'],
    description: 'Time a call to an external target took',
    seeds: [],
  },
} as const satisfies Record<string, MetricSpec>

/** The source, its progress, and how far behind the consumer is. Broker lag is what waits there; effect lag is what is not applied. */
const source = {
  lag: {
    name: 'consumer.lag',
    kind: 'gauge',
    unit: '{message}',
    labels: ['consumer', 'partition'],
    description: 'Broker lag: records of a partition, or messages of a queue, that are not applied yet',
    seeds: [delivery('consumer.lag')],
  },
  effectLag: {
    name: 'consumer.effect.lag',
    kind: 'gauge',
    unit: 's',
    labels: ['consumer', 'partition'],
    description: 'Effect lag: age of the oldest record received and not applied',
    seeds: [],
  },
  checkpointAge: {
    name: 'consumer.checkpoint.age',
    kind: 'gauge',
    unit: 's',
    labels: ['consumer', 'partition'],
    description: 'Time since the stored position of a partition last moved',
    seeds: [],
  },
  positionCommits: {
    name: 'consumer.offset.commits',
    kind: 'counter',
    unit: '{commit}',
    labels: ['consumer', 'status'],
    description: 'Positions of a log told to its broker; status is success or failure',
    seeds: [
      delivery('consumer.offset.commits.total'),
      state('consumer.offset.commit.success.count', { status: 'success' }),
      state('consumer.offset.commit.failure.count', { status: 'failure' }),
    ],
  },
  settleMissed: {
    name: 'consumer.ack.after.commit.failures',
    kind: 'counter',
    unit: '{message}',
    labels: ['consumer'],
    description: 'Durable effects the broker could not be told of; they come again and are recognised',
    seeds: [idempotency('consumer.ack.after.commit.failures')],
  },
  commitFailures: {
    name: 'consumer.commit.failures',
    kind: 'counter',
    unit: '{batch}',
    labels: ['consumer', 'reason'],
    description: 'Transactions that did not commit and were run again',
    seeds: [],
  },
  sourceEvents: {
    name: 'consumer.source.events',
    kind: 'counter',
    unit: '{event}',
    labels: ['consumer', 'kind'],
    description: 'Changes of the connection: connected, disconnected, cancelled, assigned, revoked, warning',
    seeds: [],
  },
  losses: {
    name: 'consumer.losses.open',
    kind: 'gauge',
    unit: '{gap}',
    labels: ['consumer'],
    description: 'Gaps in a log that nobody has accepted yet',
    seeds: [],
  },
  pauses: {
    name: 'consumer.pauses',
    kind: 'counter',
    unit: '{pause}',
    labels: ['consumer'],
    description: 'Times the source was paused because the downstream was away',
    seeds: [],
  },
  paused: {
    name: 'consumer.paused',
    kind: 'gauge',
    unit: '1',
    labels: ['consumer'],
    description: '1 while the source is paused because the downstream is away',
    seeds: [],
  },
  up: {
    name: 'consumer.up',
    kind: 'gauge',
    unit: '1',
    labels: ['consumer'],
    description: '1 while the consumer takes messages, 0 while its source is away and once it has halted',
    seeds: [],
  },
  info: {
    name: 'consumer.info',
    kind: 'gauge',
    unit: '1',
    labels: ['consumer', 'owner', 'risk'],
    description: 'Always 1; says whose consumer it is',
    seeds: [],
  },
} as const satisfies Record<string, MetricSpec>

/** Work kept in the store: to be done, or waiting for people. */
const held = {
  claims: {
    name: 'consumer.inbox.claims',
    kind: 'counter',
    unit: '{message}',
    labels: ['consumer'],
    description: 'Held work taken up by workers',
    seeds: [state('consumer.inbox.claimed.count')],
  },
  claimsExpired: {
    name: 'consumer.claims.expired',
    kind: 'counter',
    unit: '{message}',
    labels: ['consumer'],
    description: 'Held work taken over because its lease ran out',
    seeds: [state('consumer.inbox.claim.expired.count')],
  },
  claimsLost: {
    name: 'consumer.claims.lost',
    kind: 'counter',
    unit: '{message}',
    labels: ['consumer'],
    description: 'Held work lost to another worker because the lease ran out',
    seeds: [],
  },
  held: {
    name: 'consumer.held',
    kind: 'gauge',
    unit: '{message}',
    labels: ['consumer', 'state'],
    description: 'Held work by state: stored, waiting, parked, dead, quarantined; counted up to 100,000 each',
    seeds: [],
  },
  heldOldest: {
    name: 'consumer.held.oldest',
    kind: 'gauge',
    unit: 's',
    labels: ['consumer'],
    description: 'Age of the oldest held work that is not done and waits for no person; 0 when there is none',
    seeds: [state('consumer.inbox.oldest_pending_age.seconds')],
  },
  heldStuck: {
    name: 'consumer.claims.stuck',
    kind: 'gauge',
    unit: '{message}',
    labels: ['consumer'],
    description: 'Held work whose worker let the lease run out and that nobody has taken yet',
    seeds: [],
  },
  parkedOldest: {
    name: 'consumer.parked.oldest',
    kind: 'gauge',
    unit: 's',
    labels: ['consumer'],
    description: 'How long the oldest parked message has waited for a person; 0 when there is none',
    seeds: [],
  },
  parkingUsed: {
    name: 'consumer.parking.used',
    kind: 'gauge',
    unit: '1',
    labels: ['consumer', 'cap'],
    description:
      'Share of the parking cap in use; cap is total, or key for the fullest of the blocked keys looked at',
    seeds: [],
  },
  parkingFull: {
    name: 'consumer.parking.full',
    kind: 'counter',
    unit: '{batch}',
    labels: ['consumer'],
    description: 'Batches in which messages waited because the parking lot is full',
    seeds: [],
  },
} as const satisfies Record<string, MetricSpec>

/** External effects and messages on their way out. */
const effects = {
  calls: {
    name: 'external.calls',
    kind: 'counter',
    unit: '{call}',
    labels: ['consumer', 'target', 'result'],
    description: 'Calls to external targets by result',
    seeds: [],
  },
  suppressed: {
    name: 'external.suppressed',
    kind: 'counter',
    unit: '{effect}',
    labels: [...byMessage, 'reason'],
    description: 'External effects not requested again: duplicate, or because of the mode',
    seeds: [],
  },
  ledger: {
    name: 'external.effects',
    kind: 'gauge',
    unit: '{effect}',
    labels: ['consumer', 'target', 'state'],
    description: 'External effects that are not completed, by state; counted up to 100,000 each',
    seeds: [],
  },
  ledgerOldest: {
    name: 'external.effects.oldest',
    kind: 'gauge',
    unit: 's',
    labels: ['consumer', 'target'],
    description: 'Age of the oldest external effect that is not completed',
    seeds: [],
  },
  published: {
    name: 'messaging.client.sent.messages',
    kind: 'counter',
    unit: '{message}',
    labels: ['broker', 'messaging.system', 'messaging.operation.name'],
    fixed: { 'messaging.operation.name': 'send' },
    description: 'Messages of the outbox a broker has confirmed',
    seeds: [],
  },
  publishFailures: {
    name: 'outbox.publish.failures',
    kind: 'counter',
    unit: '{message}',
    labels: ['broker', 'code'],
    description: 'Messages a broker did not take, by error code',
    seeds: [],
  },
  publishSuppressed: {
    name: 'publish.suppressed',
    kind: 'counter',
    unit: '{message}',
    labels: byMessage,
    description: 'Messages not published because of the mode',
    seeds: [],
  },
  outboxSize: {
    name: 'outbox.messages',
    kind: 'gauge',
    unit: '{message}',
    labels: ['broker'],
    description: 'Messages that are not published, counted up to 100,000',
    seeds: [],
  },
  outboxOldest: {
    name: 'outbox.oldest',
    kind: 'gauge',
    unit: 's',
    labels: ['broker'],
    description: 'Age of the oldest message that is not published',
    seeds: [],
  },
  outboxFailing: {
    name: 'outbox.failing',
    kind: 'gauge',
    unit: '{key}',
    labels: ['broker'],
    description: 'Keys that wait behind a message the broker does not take',
    seeds: [],
  },
} as const satisfies Record<string, MetricSpec>

/** Memory and campaigns. */
const memory = {
  horizonAge: {
    name: 'retention.horizon.age',
    kind: 'gauge',
    unit: 's',
    labels: ['consumer'],
    description: 'How far back markers reach; absent while none was ever removed',
    seeds: [],
  },
  keep: {
    name: 'retention.keep',
    kind: 'gauge',
    unit: 's',
    labels: ['consumer', 'kind'],
    description: 'How long each kind of memory is kept, as the contract says',
    seeds: [],
  },
  removed: {
    name: 'retention.removed',
    kind: 'gauge',
    unit: '{row}',
    labels: ['consumer', 'kind'],
    description: 'Rows removed so far, by all processes',
    seeds: [],
  },
  overdue: {
    name: 'retention.overdue',
    kind: 'gauge',
    unit: 's',
    labels: ['consumer'],
    description: 'How long a pass of retention is late; 0 in time',
    seeds: [],
  },
  behindHorizon: {
    name: 'consumer.horizon.behind',
    kind: 'counter',
    unit: '{message}',
    labels: ['consumer'],
    description: 'Messages older than the markers that are left',
    seeds: [],
  },
  campaigns: {
    name: 'replay.campaigns',
    kind: 'gauge',
    unit: '{campaign}',
    labels: ['consumer', 'mode', 'state'],
    description: 'Campaigns that are not over, by state',
    seeds: [],
  },
  campaignDone: {
    name: 'replay.progress',
    kind: 'gauge',
    unit: '1',
    labels: ['consumer', 'mode'],
    description: 'Share of its ranges a running campaign is through; the least of several',
    seeds: [],
  },
} as const satisfies Record<string, MetricSpec>

/** Every metric there is. Instruments are made from it, and alerts, dashboards and `docs/metrics.md` are checked against it. */
export const catalogue = { ...messages, ...failures, ...durations, ...source, ...held, ...effects, ...memory }

export type MetricKey = keyof typeof catalogue

/** The name under which the Prometheus exporter shows it; a histogram adds `_bucket`, `_sum` and `_count`. */
export function prometheusName({ name, kind }: Pick<MetricSpec, 'name' | 'kind'>): string {
  const plain = name.replaceAll(/[^a-zA-Z0-9_]/g, '_')
  return kind === 'counter' ? `${plain}_total` : plain
}

export function prometheusLabel(label: Label): string {
  return label.replaceAll(/[^a-zA-Z0-9_]/g, '_')
}

/** Bounds of histograms, in seconds. */
export const secondsBounds: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
]

/** Partitions of one consumer that get a label of their own; a topic with more is shown as far. */
export const partitionsMax = 256

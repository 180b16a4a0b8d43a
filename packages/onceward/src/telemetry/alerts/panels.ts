import type { MetricKey } from '../catalogue.ts'
import type { DrawnObjective } from './objective-rules.ts'
import { grown, type HistogramPart, type Matchers, onceOf } from './promql.ts'

export type Series = (key: MetricKey, matchers?: Matchers, part?: HistogramPart) => string

export interface Query {
  readonly legend: string
  readonly expression: (series: Series) => string
}

export interface Panel {
  readonly title: string
  readonly description: string
  readonly row: string
  /** The unit’s name in Grafana. */
  readonly unit: 'short' | 's' | 'percentunit' | 'ops'
  readonly queries: readonly Query[]
  /** The objective of the contract that is drawn as a line. */
  readonly objective?: DrawnObjective
}

const perSecond = (selector: string, by: string) => `sum by (${by}) (rate(${selector}[$__rate_interval]))`
const p99 = (series: Series, key: MetricKey) =>
  `histogram_quantile(0.99, ${perSecond(series(key, {}, '_bucket'), 'consumer, le')})`
const gauge = (key: MetricKey, by: readonly string[], legend: string): Query => ({
  legend,
  expression: series => onceOf(series(key), by),
})
const rate = (key: MetricKey, by: string, legend: string, matchers: Matchers = {}): Query => ({
  legend,
  expression: series => perSecond(series(key, matchers), by),
})
const inAnHour = (key: MetricKey, by: readonly string[], legend: string, matchers: Matchers = {}): Query => ({
  legend,
  expression: series => grown(series(key, matchers), '1h', by),
})

const flow: readonly Panel[] = [
  {
    title: 'Taking messages',
    description:
      '1 while the consumer takes messages; 0 while its source is unavailable and once it has halted. Paused while a dependency is unavailable.',
    row: 'Flow',
    unit: 'short',
    queries: [
      { legend: '{{consumer}} up', expression: series => `min by (consumer) (${series('up')})` },
      gauge('paused', ['consumer'], '{{consumer}} paused'),
      gauge('braked', ['consumer', 'type'], '{{consumer}} {{type}} paused'),
    ],
  },
  {
    title: 'Deliveries, first-time effects, duplicates',
    description: 'Duplicates are normal with at-least-once delivery; their share is in the next panel.',
    row: 'Flow',
    unit: 'ops',
    queries: [
      rate('deliveries', 'consumer', '{{consumer}} delivered'),
      rate('applied', 'consumer', '{{consumer}} applied'),
      rate('duplicates', 'consumer', '{{consumer}} duplicate'),
      rate('redelivered', 'consumer', '{{consumer}} marked redelivered'),
      rate('redeliveredOften', 'consumer', '{{consumer}} redelivered too often'),
    ],
  },
  {
    title: 'Share of duplicates',
    description: 'Live deliveries that were recognised and skipped.',
    row: 'Flow',
    unit: 'percentunit',
    objective: 'duplicate_share_max',
    queries: [
      {
        legend: '{{consumer}}',
        expression: series =>
          `${grown(series('duplicates', { mode: 'live' }), '15m')} / ${grown(series('deliveries', { mode: 'live' }), '15m')}`,
      },
    ],
  },
  {
    title: 'Broker lag',
    description: 'Messages that wait at the broker.',
    row: 'Flow',
    unit: 'short',
    objective: 'lag_records_max',
    queries: [
      {
        legend: '{{consumer}}',
        expression: series => `sum by (consumer) (${onceOf(series('lag'), ['consumer', 'partition'])})`,
      },
    ],
  },
  {
    title: 'Effect lag: oldest message that is not applied',
    description: 'Received and not applied, or stored and not processed.',
    row: 'Flow',
    unit: 's',
    objective: 'lag_max_seconds',
    queries: [
      gauge('effectLag', ['consumer'], '{{consumer}} received'),
      gauge('heldOldest', ['consumer'], '{{consumer}} stored'),
    ],
  },
  {
    title: 'Time without a delivery while something waits',
    description: 'Stalled: the broker has messages and delivers none, or does not answer.',
    row: 'Flow',
    unit: 's',
    queries: [gauge('stalled', ['consumer'], '{{consumer}}')],
  },
  {
    title: 'Added partitions that wait',
    description:
      'The consumer reads them once it has drained the partitions before them, to keep the order of keys.',
    row: 'Flow',
    unit: 'short',
    queries: [gauge('waitingPartitions', ['consumer'], '{{consumer}}')],
  },
  {
    title: 'Time since a partition moved',
    description: 'By partition of a log.',
    row: 'Flow',
    unit: 's',
    queries: [
      {
        legend: '{{consumer}} {{partition}}',
        expression: series => `min by (consumer, partition) (${series('checkpointAge')})`,
      },
    ],
  },
  {
    title: 'Time to apply and to commit, p99',
    description:
      'Handler calls; a message from the start of its batch to the commit; inserting markers; acknowledging.',
    row: 'Flow',
    unit: 's',
    objective: 'apply_p99_max_seconds',
    queries: [
      { legend: '{{consumer}} handlers', expression: series => p99(series, 'applyLatency') },
      { legend: '{{consumer}} message', expression: series => p99(series, 'processDuration') },
      { legend: '{{consumer}} insert markers', expression: series => p99(series, 'insertLatency') },
      { legend: '{{consumer}} acknowledge', expression: series => p99(series, 'settleDuration') },
    ],
  },
  {
    title: 'Connection',
    description: 'Connected, disconnected, partitions assigned and revoked.',
    row: 'Flow',
    unit: 'short',
    queries: [inAnHour('sourceEvents', ['consumer', 'kind'], '{{consumer}} {{kind}}')],
  },
]

const trouble: readonly Panel[] = [
  {
    title: 'Outcomes',
    description: 'Deliveries by outcome.',
    row: 'Trouble',
    unit: 'ops',
    queries: [rate('outcomes', 'consumer, outcome', '{{consumer}} {{outcome}}')],
  },
  {
    title: 'Waiting for a person',
    description:
      'Parked, dead-lettered and quarantined messages by reason, without those that only wait behind another.',
    row: 'Trouble',
    unit: 'short',
    objective: 'set_aside_max',
    queries: [
      {
        expression: series =>
          `sum by (consumer, reason) (${onceOf(series('attention'), ['consumer', 'reason', 'class'])})`,
        legend: '{{consumer}} {{reason}}',
      },
    ],
  },
  {
    title: 'Longest wait for a person',
    description: 'Age of the oldest of them.',
    row: 'Trouble',
    unit: 's',
    objective: 'set_aside_age_max_seconds',
    queries: [gauge('attentionOldest', ['consumer', 'reason'], '{{consumer}} {{reason}}')],
  },
  {
    title: 'Set aside in an hour',
    description:
      'Parked, dead-lettered and quarantined messages, without those that only wait behind another.',
    row: 'Trouble',
    unit: 'short',
    queries: [
      inAnHour('setAside', ['consumer', 'outcome'], '{{consumer}} {{outcome}}', {
        class: { not: ['order'] },
      }),
      inAnHour('exhausted', ['consumer'], '{{consumer}} retries exhausted'),
      inAnHour('poison', ['consumer'], '{{consumer}} poison'),
    ],
  },
  {
    title: 'Broken messages in an hour',
    description: 'For the producer: unreadable, or a known id with different content.',
    row: 'Trouble',
    unit: 'short',
    queries: [
      inAnHour('unreadable', ['consumer', 'reason'], '{{consumer}} {{reason}}'),
      inAnHour('conflicts', ['consumer'], '{{consumer}} conflict'),
      inAnHour('behindHorizon', ['consumer'], '{{consumer}} behind the horizon'),
    ],
  },
  {
    title: 'Results of declared effects, in an hour',
    description:
      'Messages by what a projection, transition, contribution or audit made of them; gaps included.',
    row: 'Trouble',
    unit: 'short',
    queries: [inAnHour('results', ['consumer', 'code'], '{{consumer}} {{code}}')],
  },
  {
    title: 'Copied to the dead-letter destination, in an hour',
    description: 'By failure class.',
    row: 'Trouble',
    unit: 'short',
    queries: [inAnHour('deadLetters', ['consumer', 'class'], '{{consumer}} {{class}}')],
  },
  {
    title: 'Failures and retries',
    description: 'Failed attempts by class, and those that are retried.',
    row: 'Trouble',
    unit: 'ops',
    queries: [
      rate('failures', 'consumer, class', '{{consumer}} {{class}}'),
      rate('retries', 'consumer', '{{consumer}} retried'),
    ],
  },
  {
    title: 'Commits and acknowledgements that failed, in an hour',
    description:
      'Transactions that were run again; acknowledgements and positions that the broker did not receive.',
    row: 'Trouble',
    unit: 'short',
    queries: [
      inAnHour('commitFailures', ['consumer', 'reason'], '{{consumer}} transaction {{reason}}'),
      inAnHour('positionCommits', ['consumer'], '{{consumer}} position', { status: 'failure' }),
      inAnHour('settleMissed', ['consumer'], '{{consumer}} acknowledgement'),
    ],
  },
  {
    title: 'Losses that no operator has accepted',
    description: 'Records that a log removed before the consumer read them.',
    row: 'Trouble',
    unit: 'short',
    queries: [gauge('losses', ['consumer'], '{{consumer}}')],
  },
]

const kept: readonly Panel[] = [
  {
    title: 'Held work',
    description: 'Stored, waiting, parked, dead, quarantined.',
    row: 'Held work and effects',
    unit: 'short',
    queries: [gauge('held', ['consumer', 'state'], '{{consumer}} {{state}}')],
  },
  {
    title: 'Parking used',
    description: 'Share of the cap in use; at the cap the source waits.',
    row: 'Held work and effects',
    unit: 'percentunit',
    objective: 'parking_share_max',
    queries: [
      gauge('parkingUsed', ['consumer', 'cap'], '{{consumer}} {{cap}}'),
      inAnHour('parkingFull', ['consumer'], '{{consumer}} batches that waited'),
    ],
  },
  {
    title: 'Leases taken over from silent workers',
    description: 'In an hour; and leases that no worker has taken over.',
    row: 'Held work and effects',
    unit: 'short',
    queries: [
      inAnHour('leasesExpired', ['consumer'], '{{consumer}} expired'),
      gauge('heldStuck', ['consumer'], '{{consumer}} stuck'),
    ],
  },
  {
    title: 'External effects that are not completed',
    description: 'By target and state.',
    row: 'Held work and effects',
    unit: 'short',
    queries: [gauge('ledger', ['consumer', 'target', 'state'], '{{consumer}} {{target}} {{state}}')],
  },
  {
    title: 'Oldest external effect that is not completed',
    description: 'By target.',
    row: 'Held work and effects',
    unit: 's',
    objective: 'lag_max_seconds',
    queries: [gauge('ledgerOldest', ['consumer', 'target'], '{{consumer}} {{target}}')],
  },
  {
    title: 'Held work without a worker',
    description: 'All consumers of the database, by what the work waits for.',
    row: 'Held work and effects',
    unit: 'short',
    queries: [gauge('heldUnserved', ['waits_for'], '{{waits_for}}')],
  },
]

/** Panels that need no consumer: a relay reports them too. */
export const outboxPanels: readonly Panel[] = [
  {
    title: 'Outbox: oldest message that is not published',
    description: 'By destination, for all consumers of the database.',
    row: 'Outbox',
    unit: 's',
    objective: 'outbox_age_max_seconds',
    queries: [
      gauge('outboxOldest', ['broker', 'destination'], '{{destination}}'),
      gauge('outboxFailing', ['broker', 'destination'], '{{destination}} keys behind a rejected message'),
    ],
  },
  {
    title: 'Outbox: messages behind a rejected one',
    description:
      'Later messages of the same key, by destination. They wait until the broker accepts it or an operator drops it.',
    row: 'Outbox',
    unit: 'short',
    queries: [gauge('outboxBehind', ['broker', 'destination'], '{{destination}}')],
  },
  {
    title: 'Outbox: messages without a relay',
    description: 'By destination that no live relay is connected to.',
    row: 'Outbox',
    unit: 'short',
    queries: [gauge('outboxUnserved', ['broker', 'destination'], '{{destination}}')],
  },
  {
    title: 'Outbox: published and failed',
    description: 'Messages that brokers confirmed, and publications that failed, by broker.',
    row: 'Outbox',
    unit: 'ops',
    queries: [
      rate('published', 'broker', '{{broker}} published'),
      rate('publishFailures', 'broker, code', '{{broker}} {{code}}'),
    ],
  },
  {
    title: 'Outbox: messages that are not published',
    description: 'By destination, counted up to 100,000.',
    row: 'Outbox',
    unit: 'short',
    queries: [gauge('outboxSize', ['broker', 'destination'], '{{destination}}')],
  },
]

/** The panels of the dashboard, row by row; every metric that an alert uses is among them. */
export const panels: readonly Panel[] = [...flow, ...trouble, ...kept, ...outboxPanels]

import type { Risk } from '../contract.ts'
import { criticalRisks } from '../words.ts'
import { duration, share, wholeNumber } from './amount-kinds.ts'
import { section } from './kind.ts'
import { computed, option } from './option.ts'

/** Prometheus looks back by whole seconds, and samples are rarely kept for longer than a month. */
const lookBack = (min: number) =>
  duration({
    min,
    max: 31 * 86_400_000,
    examples: "'500ms', '90s' or '5m'",
    outOfRange: 'must be from 1 s (applyP99Max: 1 ms) to 31 d, the range alerts can look back',
  })
const age = lookBack(1_000)
const count = wholeNumber(0, 1_000_000_000)

/**
 * People wait for payments, reports to an authority and notifications. They look at projections when they
 * need them, and read the rest later.
 */
const lagByRisk: Record<Risk, string> = {
  money: '1m',
  regulatory: '1m',
  notification: '1m',
  projection: '5m',
  telemetry: '15m',
  'low value': '1h',
}

/** The same order: a backlog that a person waits for is noticed earlier. */
const lagRecordsByRisk: Record<Risk, number> = {
  money: 1_000,
  regulatory: 1_000,
  notification: 1_000,
  projection: 10_000,
  telemetry: 100_000,
  'low value': 100_000,
}

/** Service levels. */
export const objectivesOptions = [
  option('objectives', section()),
  option('objectives.lagMax', age, 'greatest age of a message that is not applied yet', {
    default: computed(get => lagByRisk[get('risk')]),
    defaultText: 'by risk',
  }),
  option(
    'objectives.lagRecordsMax',
    count,
    'records that may wait at the broker while their number is growing',
    {
      default: computed(get => lagRecordsByRisk[get('risk')]),
      defaultText: 'by risk',
    },
  ),
  option('objectives.applyP99Max', lookBack(1), '99th percentile of the time of a handler call', {
    default: computed(get => get('batch.handlerTimeoutMs') / 2),
    defaultText: 'half of `batch.handlerTimeout`',
  }),
  option('objectives.duplicateShareMax', share, 'share of deliveries that may be duplicates', {
    default: 0.1,
  }),
  option(
    'objectives.setAsideMax',
    count,
    'dead-lettered, parked and quarantined messages of one reason that may await an operator',
    {
      default: computed(get => (criticalRisks.has(get('risk')) ? 0 : 10)),
      defaultText: 'by risk',
    },
  ),
  option('objectives.setAsideAgeMax', age, 'how long any such message may wait, even if there are few', {
    default: '24h',
  }),
  option('objectives.leasesExpiredPerHourMax', count, 'leases of silent workers that may expire per hour', {
    default: 5,
  }),
  option('objectives.outboxAgeMax', age, 'age of the oldest message in the outbox', {
    default: computed(get => get('objectives.lagMax')),
    defaultText: '`objectives.lagMax`',
  }),
  option('objectives.parkingShareMax', share, 'share of `failure.parking.totalMax` at which an alert fires', {
    default: 0.8,
  }),
  option('objectives.idleMax', age, 'longest time without a message', {
    defaultText: ': an hour without messages in which messages arrived the day before',
  }),
]

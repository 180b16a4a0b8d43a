import type { Risk } from '../contract.ts'
import { criticalRisks } from '../words.ts'
import { duration, share, wholeNumber } from './amount-kinds.ts'
import { section } from './kind.ts'
import { computed, option } from './option.ts'

/** Prometheus looks back by whole seconds, and nobody keeps its samples for longer. */
const lookBack = (min: number) =>
  duration({
    min,
    max: 31 * 86_400_000,
    examples: "'500ms', '90s' or '5m'",
    outOfRange: 'must be from 1 s (applyP99Max: 1 ms) to 31 d, the times alerts can look back',
  })
const age = lookBack(1_000)
const count = wholeNumber(0, 1_000_000_000)

/**
 * Somebody waits for money, an authority and a notification; a projection is looked at; the rest is read
 * later.
 */
const lagByRisk: Record<Risk, string> = {
  money: '1m',
  regulatory: '1m',
  notification: '1m',
  projection: '5m',
  telemetry: '15m',
  'low value': '1h',
}

/** What being in time means. */
export const objectivesOptions = [
  option('objectives', section()),
  option('objectives.lagMax', age, 'age of what is not applied yet', {
    default: computed(get => lagByRisk[get('risk')]),
    defaultText: 'by risk',
  }),
  option('objectives.lagRecordsMax', count, 'records that may wait at the broker while their number grows', {
    default: 10_000,
  }),
  option('objectives.applyP99Max', lookBack(1), '99 of 100 batches are applied within it', {
    default: computed(get => get('batch.handlerTimeoutMs') / 2),
    defaultText: 'half of `batch.handlerTimeout`',
  }),
  option('objectives.duplicateShareMax', share, 'share of deliveries that may be repeats', { default: 0.1 }),
  option(
    'objectives.setAsideMax',
    count,
    'dead letters, parked and quarantined messages that may wait for a person, of one reason',
    {
      default: computed(get => (criticalRisks.has(get('risk')) ? 0 : 10)),
      defaultText: 'by risk',
    },
  ),
  option('objectives.setAsideAgeMax', age, 'how long any of them may wait, however few they are', {
    default: '24h',
  }),
  option('objectives.leasesExpiredPerHourMax', count, 'work taken from silent workers in an hour', {
    default: 5,
  }),
  option('objectives.outboxAgeMax', age, 'age of the oldest message in the outbox', {
    default: computed(get => get('objectives.lagMax')),
    defaultText: 'as lagMax',
  }),
  option(
    'objectives.parkingShareMax',
    share,
    'share of failure.parking.totalMax from which parking is nearly full',
    { default: 0.8 },
  ),
  option('objectives.idleMax', age, 'the source is never silent for longer', {
    defaultText: ': as the day before',
  }),
]

import { type Alert, keepsWork, minuteMs } from './alert.ts'
import { grown, number, onceOf } from './promql.ts'

/** Below it a share says nothing: one repeat of ten deliveries is no spike. */
const duplicatesLeast = 20
const live = { mode: 'live' } as const
const perHour = ({ objectives }: { objectives: { deadLettersPerHourMax: number } }) =>
  `more than deadLettersPerHourMax (${objectives.deadLettersPerHourMax}) in an hour`

/** Messages that did not simply get through. */
export const failureAlerts = [
  {
    name: 'OncewardDuplicateSpike',
    seeds: ['001 §30: duplicate rate spike', '003 §19: duplicate rate spike'],
    severity: 'warning',
    severityElsewhere: 'info',
    runbook: 'duplicate-spike',
    forMs: 5 * minuteMs,
    metrics: ['duplicates', 'deliveries'],
    expression: ({ consumer, series }) => {
      const repeats = grown(series('duplicates', live), '15m')
      return `${repeats} / ${grown(series('deliveries', live), '15m')} > ${number(consumer.objectives.duplicateShareMax)} and ${repeats} > ${duplicatesLeast}`
    },
    summary: '{{ $value | humanizePercentage }} of the deliveries are repeats, skipped safely',
    threshold: ({ objectives }) =>
      `above duplicateShareMax (${objectives.duplicateShareMax}) and more than ${duplicatesLeast} in 15m, for 5m`,
  },
  {
    name: 'OncewardConflict',
    seeds: ['000 §22: consumer.duplicate_conflicts.total'],
    severity: 'critical',
    toProducer: true,
    runbook: 'conflict',
    forMs: 0,
    metrics: ['conflicts'],
    expression: ({ series }) => `${grown(series('conflicts'), '1h')} > 0`,
    summary: '{{ $value | humanize }} messages carry a known identity and other content',
    threshold: () => 'any in an hour',
  },
  {
    name: 'OncewardDeadLetters',
    seeds: ['001 §30: DLQ rate > 0 for critical topic'],
    severity: 'critical',
    severityElsewhere: 'warning',
    toDeadLetterOwner: true,
    runbook: 'dead-letters',
    forMs: 0,
    metrics: ['setAside'],
    expression: ({ consumer, series }) => {
      const aside = series('setAside', {
        ...live,
        outcome: ['dead-lettered', 'parked'],
        class: { not: ['order'] },
      })
      return `${grown(aside, '1h')} > ${consumer.objectives.deadLettersPerHourMax}`
    },
    summary: '{{ $value | humanize }} messages were set aside and wait for a person',
    threshold: perHour,
  },
  {
    name: 'OncewardRetriesExhausted',
    seeds: ['001 §30: retry exhausted'],
    severity: 'critical',
    severityElsewhere: 'warning',
    runbook: 'retries-exhausted',
    forMs: 0,
    metrics: ['exhausted'],
    expression: ({ consumer, series }) =>
      `${grown(series('exhausted', live), '1h', ['consumer', 'class'])} > ${consumer.objectives.deadLettersPerHourMax}`,
    summary: '{{ $value | humanize }} messages failed at their last attempt, class {{ $labels.class }}',
    threshold: perHour,
  },
  {
    name: 'OncewardPoison',
    seeds: ['001 §30: poison message detected'],
    severity: 'critical',
    severityElsewhere: 'warning',
    runbook: 'poison',
    forMs: 0,
    metrics: ['poison'],
    expression: ({ series }) => `${grown(series('poison', live), '1h', ['consumer', 'reason'])} > 0`,
    summary: '{{ $value | humanize }} messages cannot succeed: {{ $labels.reason }}',
    threshold: () => 'any in an hour',
  },
  {
    name: 'OncewardUnreadable',
    seeds: ['001 §30: deserialization failure'],
    severity: 'critical',
    severityElsewhere: 'warning',
    toProducer: true,
    runbook: 'deserialization-failures',
    forMs: 0,
    metrics: ['unreadable'],
    expression: ({ series }) => `${grown(series('unreadable', live), '1h', ['consumer', 'reason'])} > 0`,
    summary: '{{ $value | humanize }} messages cannot be read: {{ $labels.reason }}',
    threshold: () => 'any in an hour',
  },
  {
    name: 'OncewardQuarantined',
    seeds: ['003 §19: quarantined count increasing'],
    severity: 'critical',
    severityElsewhere: 'warning',
    runbook: 'quarantined',
    forMs: 0,
    metrics: ['outcomes'],
    expression: ({ consumer, series }) =>
      `${grown(series('outcomes', { ...live, outcome: 'quarantined' }), '1h')} > ${consumer.objectives.deadLettersPerHourMax}`,
    summary: '{{ $value | humanize }} messages were quarantined',
    threshold: perHour,
  },
  {
    name: 'OncewardParkingNearCap',
    seeds: [],
    severity: 'critical',
    severityElsewhere: 'warning',
    toDeadLetterOwner: true,
    runbook: 'parking-near-cap',
    forMs: 0,
    metrics: ['parkingUsed', 'parkingFull'],
    expression: ({ consumer, series }) =>
      `${onceOf(series('parkingUsed'), ['consumer'])} > ${number(consumer.objectives.parkingShareMax)} or ${grown(series('parkingFull'), '15m')} > 0`,
    summary: 'The parking lot is nearly full; at its cap the source waits',
    threshold: ({ objectives, failure }) =>
      `above parkingShareMax (${objectives.parkingShareMax}) of ${failure.parking.totalMax} in all or ${failure.parking.perKeyMax} behind one key, or full`,
  },
  {
    name: 'OncewardClaimsExpired',
    seeds: ['003 §19: claim expired count increasing'],
    severity: 'warning',
    runbook: 'stuck-claims',
    forMs: 5 * minuteMs,
    metrics: ['claimsExpired', 'heldStuck'],
    applies: keepsWork,
    expression: ({ consumer, series }) =>
      `${grown(series('claimsExpired'), '1h')} > ${consumer.objectives.claimsExpiredPerHourMax} or ${onceOf(series('heldStuck'), ['consumer'])} > 0`,
    summary: '{{ $value | humanize }} messages were claimed by workers that fell silent',
    threshold: ({ objectives }) =>
      `more than claimsExpiredPerHourMax (${objectives.claimsExpiredPerHourMax}) in an hour, or some nobody takes over, for 5m`,
  },
] as const satisfies readonly Alert[]

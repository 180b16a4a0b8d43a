import type { Consumer } from '../../contract/define-consumer.ts'
import { durationText } from '../../contract/duration.ts'
import type { AttentionReason } from '../attention-reason.ts'
import { type Alert, type AlertContext, keepsWork, minuteMs } from './alert.ts'
import { grown, lastKnown, number, onceOf } from './promql.ts'

/** Below it a share means little: one duplicate in ten deliveries is no spike. */
const duplicatesLeast = 20
const live = { mode: 'live' } as const
const anyWaits = () => 'any that waits now'
const manyWait = ({ objectives }: Consumer) => `more than setAsideMax (${objectives.setAsideMax}) wait now`

/** Messages that wait for a person now, of some reasons, summed by labels. */
function waiting({ series }: AlertContext, reasons: readonly AttentionReason[], by = 'consumer'): string {
  const each = onceOf(lastKnown(series('attention', { reason: reasons })), ['consumer', 'reason', 'class'])
  return `sum by (${by}) (${each})`
}

const oldestOf =
  (...reasons: readonly AttentionReason[]) =>
  ({ series }: AlertContext) =>
    `max by (consumer) (${lastKnown(series('attentionOldest', { reason: reasons }))})`

/** Messages that were not applied at the first attempt. */
export const failureAlerts = [
  {
    name: 'OncewardDuplicateSpike',
    severity: 'warning',
    severityElsewhere: 'info',
    runbook: 'duplicate-spike',
    forMs: 5 * minuteMs,
    metrics: ['duplicates', 'deliveries'],
    expression: ({ consumer, series }) => {
      const repeats = grown(series('duplicates', live), '15m')
      return `${repeats} / ${grown(series('deliveries', live), '15m')} > ${number(consumer.objectives.duplicateShareMax)} and ${repeats} > ${duplicatesLeast}`
    },
    summary: '{{ $value | humanizePercentage }} of the deliveries are duplicates, skipped safely',
    threshold: ({ objectives }) =>
      `above duplicateShareMax (${objectives.duplicateShareMax}) and more than ${duplicatesLeast} in 15m, for 5m`,
  },
  {
    name: 'OncewardConflict',
    severity: 'critical',
    toProducer: true,
    runbook: 'conflict',
    forMs: 0,
    metrics: ['attention', 'attentionOldest'],
    expression: context => `${waiting(context, ['conflict'])} > 0`,
    oldest: oldestOf('conflict'),
    summary: '{{ $value | humanize }} messages have a known id and different content, and wait for a person',
    threshold: anyWaits,
  },
  {
    name: 'OncewardDeadLetters',
    severity: 'critical',
    severityElsewhere: 'warning',
    toDeadLetterOwner: true,
    runbook: 'dead-letters',
    forMs: 0,
    metrics: ['attention', 'attentionOldest'],
    expression: context => `${waiting(context, ['set aside'])} > ${context.consumer.objectives.setAsideMax}`,
    oldest: oldestOf('set aside'),
    summary: '{{ $value | humanize }} messages are set aside and wait for a person',
    threshold: manyWait,
  },
  {
    name: 'OncewardRetriesExhausted',
    severity: 'critical',
    severityElsewhere: 'warning',
    runbook: 'retries-exhausted',
    forMs: 0,
    metrics: ['attention', 'attentionOldest'],
    expression: context => `${waiting(context, ['exhausted'])} > ${context.consumer.objectives.setAsideMax}`,
    oldest: oldestOf('exhausted'),
    summary: '{{ $value | humanize }} messages failed at their last attempt and wait for a person',
    threshold: manyWait,
  },
  {
    name: 'OncewardPoison',
    severity: 'critical',
    severityElsewhere: 'warning',
    runbook: 'poison',
    forMs: 0,
    metrics: ['attention', 'attentionOldest'],
    expression: context => `${waiting(context, ['poison'])} > 0`,
    oldest: oldestOf('poison'),
    summary:
      '{{ $value | humanize }} messages cannot succeed: they fail the same way every time, or crash their process',
    threshold: anyWaits,
  },
  {
    name: 'OncewardUnreadable',
    severity: 'critical',
    severityElsewhere: 'warning',
    toProducer: true,
    runbook: 'deserialization-failures',
    forMs: 0,
    metrics: ['attention', 'attentionOldest'],
    expression: context => `${waiting(context, ['unreadable'])} > 0`,
    oldest: oldestOf('unreadable'),
    summary: '{{ $value | humanize }} messages cannot be read and wait for a person',
    threshold: anyWaits,
  },
  // The severity does not follow the risk: data that contradicts itself spreads wherever it is read.
  {
    name: 'OncewardCorruption',
    severity: 'critical',
    runbook: 'quarantined',
    forMs: 0,
    metrics: ['attention', 'attentionOldest'],
    expression: context => `${waiting(context, ['corrupt'])} > 0`,
    oldest: oldestOf('corrupt'),
    summary: '{{ $value | humanize }} messages are quarantined as corrupt and wait for a person',
    threshold: anyWaits,
  },
  {
    name: 'OncewardQuarantined',
    severity: 'critical',
    severityElsewhere: 'warning',
    runbook: 'quarantined',
    forMs: 0,
    metrics: ['attention', 'attentionOldest'],
    expression: context =>
      `${waiting(context, ['quarantined'])} > ${context.consumer.objectives.setAsideMax}`,
    oldest: oldestOf('quarantined'),
    summary: '{{ $value | humanize }} messages are quarantined and wait for a person',
    threshold: manyWait,
  },
  // Covers only the counts that the alerts above ignore because they are small: one message never raises two
  // alerts.
  {
    name: 'OncewardSetAsideTooLong',
    severity: 'warning',
    toDeadLetterOwner: true,
    runbook: 'set-aside-too-long',
    forMs: 0,
    metrics: ['attention', 'attentionOldest'],
    applies: ({ objectives }) => objectives.setAsideMax > 0,
    expression: context => {
      const { setAsideMax, setAsideAgeMaxMs } = context.consumer.objectives
      const reasons = ['set aside', 'exhausted', 'quarantined'] as const
      const oldest = `max by (consumer, reason) (${lastKnown(context.series('attentionOldest', { reason: reasons }))})`
      return `${oldest} > ${number(setAsideAgeMaxMs / 1_000)} unless ${waiting(context, reasons, 'consumer, reason')} > ${setAsideMax}`
    },
    summary: 'A message ({{ $labels.reason }}) has waited {{ $value | humanizeDuration }} for a person',
    threshold: ({ objectives }) =>
      `one waits longer than setAsideAgeMax (${durationText(objectives.setAsideAgeMaxMs)}), and no more than setAsideMax (${objectives.setAsideMax}) wait`,
  },
  {
    name: 'OncewardParkingNearCap',
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
    name: 'OncewardLeasesExpired',
    severity: 'warning',
    runbook: 'stuck-leases',
    forMs: 5 * minuteMs,
    metrics: ['leasesExpired', 'heldStuck'],
    applies: keepsWork,
    expression: ({ consumer, series }) =>
      `${grown(series('leasesExpired'), '1h')} > ${consumer.objectives.leasesExpiredPerHourMax} or ${onceOf(series('heldStuck'), ['consumer'])} > 0`,
    summary: '{{ $value | humanize }} messages were leased by workers that stopped responding',
    threshold: ({ objectives }) =>
      `more than leasesExpiredPerHourMax (${objectives.leasesExpiredPerHourMax}) in an hour, or some that no worker takes over, for 5m`,
  },
] as const satisfies readonly Alert[]

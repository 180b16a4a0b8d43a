import type { Consumer } from '../../contract/define-consumer.ts'
import { durationText } from '../../contract/duration.ts'
import { readsLog } from '../../contract/reads-log.ts'
import { type Alert, brokersOf, minuteMs } from './alert.ts'
import { grown, number, onceOf } from './promql.ts'

/** A row of the outbox names a destination, not a kind of broker. */
const place = ['broker', 'destination'] as const

/** Results of messages behind a gap: applied, parked, quarantined or retried, or left to a rebuild. */
export const gapCodes = ['gap', 'rebuild'] as const

/** A projection that compares versions; where skips are allowed, no message gets these codes. */
function seesGaps({ effect }: Consumer): boolean {
  return gapCodes.some(code => effect?.apply?.codes?.includes(code))
}

/** Steps whose result must become durable, here or elsewhere, and the markers that recognise duplicates. */
export const effectAlerts = [
  {
    name: 'OncewardCommitFailures',
    severity: 'critical',
    severityElsewhere: 'warning',
    runbook: 'commit-failures',
    forMs: 10 * minuteMs,
    metrics: ['commitFailures'],
    expression: ({ series }) =>
      `${grown(series('commitFailures', { reason: { not: ['contention'] } }), '5m')} > 0`,
    summary: '{{ $value | humanize }} transactions did not commit in 5 minutes and were run again',
    threshold: () => 'some in every 5m for 10m, other than by contention, which is normal',
  },
  {
    name: 'OncewardOffsetCommitFailures',
    severity: 'warning',
    runbook: 'offset-commit-failures',
    forMs: 10 * minuteMs,
    metrics: ['positionCommits', 'settleMissed'],
    expression: ({ series }) =>
      `${grown(series('positionCommits', { status: 'failure' }), '5m')} > 0 or ${grown(series('settleMissed'), '5m')} > 0`,
    summary: 'Acknowledgements fail: the broker will redeliver messages that are done',
    threshold: () => 'some in every 5m for 10m: more than one rebalance or reconnect',
  },
  {
    name: 'OncewardOutboxGrowing',
    severity: 'critical',
    severityElsewhere: 'warning',
    runbook: 'outbox-growing',
    forMs: 5 * minuteMs,
    metrics: ['outboxOldest', 'outboxFailing'],
    applies: consumer => brokersOf(consumer).length > 0,
    expression: ({ consumer, series }) => {
      const of = { broker: brokersOf(consumer) }
      const seconds = number(consumer.objectives.outboxAgeMaxMs / 1_000)
      return `${onceOf(series('outboxOldest', of), place)} > ${seconds} or ${onceOf(series('outboxFailing', of), place)} > 0`
    },
    summary: 'Messages for {{ $labels.destination }} are not published',
    threshold: ({ objectives }) =>
      `older than outboxAgeMax (${durationText(objectives.outboxAgeMaxMs)}), or rejected by the broker, for 5m`,
  },
  {
    name: 'OncewardOutboxUnserved',
    severity: 'critical',
    severityElsewhere: 'warning',
    runbook: 'outbox-unserved',
    forMs: 5 * minuteMs,
    metrics: ['outboxUnserved'],
    applies: consumer => brokersOf(consumer).length > 0,
    expression: ({ consumer, series }) =>
      `${onceOf(series('outboxUnserved', { broker: brokersOf(consumer) }), place)} > 0`,
    summary:
      '{{ $value | humanize }} messages for {{ $labels.destination }} wait, and no relay is connected there',
    threshold: () => 'any for 5m',
  },
  {
    name: 'OncewardUnknownEffects',
    severity: 'critical',
    severityElsewhere: 'warning',
    runbook: 'unknown-effects',
    forMs: 10 * minuteMs,
    metrics: ['ledger'],
    applies: ({ effect }) => Object.keys(effect?.external ?? {}).length > 0,
    expression: ({ series }) => {
      const open = series('ledger', { state: ['unknown', 'reconciling', 'failed'] })
      return `sum by (consumer, target) (${onceOf(open, ['consumer', 'target', 'state'])}) > 0`
    },
    summary: '{{ $value | humanize }} calls to {{ $labels.target }} failed or have an unknown outcome',
    threshold: () => 'any for 10m',
  },
  {
    name: 'OncewardEffectsDelayed',
    severity: 'warning',
    runbook: 'effects-delayed',
    forMs: 5 * minuteMs,
    metrics: ['ledgerOldest'],
    applies: ({ effect }) => Object.keys(effect?.external ?? {}).length > 0,
    expression: ({ consumer, series }) =>
      `${onceOf(series('ledgerOldest'), ['consumer', 'target'])} > ${number(consumer.objectives.lagMaxMs / 1_000)}`,
    summary: 'A call to {{ $labels.target }} has been due for {{ $value | humanizeDuration }}',
    threshold: ({ objectives }) => `not completed for lagMax (${durationText(objectives.lagMaxMs)}), for 5m`,
  },
  // A fact that waits for a missing version in time is normal and has the code `wait`.
  {
    name: 'OncewardVersionGap',
    severity: 'warning',
    runbook: 'version-gap',
    forMs: 0,
    metrics: ['results'],
    applies: seesGaps,
    expression: ({ series }) => `${grown(series('results', { code: gapCodes }), '15m')} > 0`,
    summary: '{{ $value | humanize }} messages arrived while versions before them are missing',
    threshold: () => 'any in 15m that did not merely wait for its version in time',
  },
  {
    name: 'OncewardHorizonTooShort',
    severity: 'critical',
    severityElsewhere: 'warning',
    runbook: 'horizon-too-short',
    forMs: 0,
    metrics: ['behindHorizon'],
    applies: ({ retention }) => retention !== null,
    expression: ({ series }) => `${grown(series('behindHorizon'), '1h')} > 0`,
    summary: '{{ $value | humanize }} messages are older than the markers that are left',
    threshold: () => 'any in an hour',
  },
  {
    name: 'OncewardLoss',
    severity: 'critical',
    runbook: 'loss',
    forMs: 0,
    metrics: ['losses'],
    applies: readsLog,
    expression: ({ series }) => `${onceOf(series('losses'), ['consumer'])} > 0`,
    summary: 'Records were removed from the log before they were read',
    threshold: () => 'any that no operator has accepted',
  },
] as const satisfies readonly Alert[]

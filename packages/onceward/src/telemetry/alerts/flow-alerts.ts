import { durationText } from '../../contract/duration.ts'
import { readsLog } from '../../contract/reads-log.ts'
import { secondsBounds } from '../catalogue.ts'
import { type Alert, type AlertContext, keepsWork, minuteMs } from './alert.ts'
import { grown, number, onceOf, window } from './promql.ts'

/** The store counts work up to a limit; no value exceeds a higher threshold. */
const countedMax = 99_999
const quietMs = 3_600_000
/** A shorter window may contain no two scrapes: every counter would look young, and no silence be seen. */
const windowLeastMs = 3 * minuteMs
const largestBoundSeconds = secondsBounds.at(-1)!

/** A partition with unknown lag is exported as NaN, which would make the sum of all partitions NaN. */
const lagOf = ({ series }: AlertContext) =>
  `sum by (consumer) (${onceOf(`${series('lag')} >= 0`, ['consumer', 'partition'])})`
const pendingOf = ({ series }: AlertContext) =>
  `sum by (consumer) (${onceOf(series('held', { state: ['stored', 'waiting'] }), ['consumer', 'state'])})`
const rising = (context: AlertContext) => {
  const lag = lagOf(context)
  return `(${lag} > ${context.consumer.objectives.lagRecordsMax} and deriv((${lag})[15m:1m]) > 0)`
}

/** Whether messages arrive, and how far behind the consumer is. */
export const flowAlerts = [
  {
    name: 'OncewardDown',
    severity: 'critical',
    severityElsewhere: 'warning',
    runbook: 'down',
    forMs: 5 * minuteMs,
    metrics: ['up'],
    expression: ({ series }) => `min by (consumer) (${series('up')}) == 0 or absent(${series('up')})`,
    summary: 'A process has halted or cannot reach its source, or none runs',
    threshold: () => 'halted, without its source, or not scraped, for 5m',
  },
  {
    name: 'OncewardPaused',
    severity: 'warning',
    runbook: 'paused',
    forMs: 10 * minuteMs,
    metrics: ['paused'],
    expression: ({ series }) => `${onceOf(series('paused'), ['consumer'])} == 1`,
    summary: 'The source is paused because a dependency is unavailable',
    threshold: () => 'paused for 10m',
  },
  {
    name: 'OncewardBraked',
    severity: 'critical',
    runbook: 'braked',
    forMs: 0,
    metrics: ['braked'],
    expression: ({ series }) => `${onceOf(series('braked'), ['consumer', 'type', 'cause', 'version'])} == 1`,
    summary:
      'Event type {{ $labels.type }} is paused: most of its messages fail with {{ $labels.cause }} under version {{ $labels.version }}',
    threshold: () => 'any paused event type',
  },
  {
    name: 'OncewardRedeliveredTooOften',
    severity: 'warning',
    runbook: 'redelivered-too-often',
    forMs: 0,
    metrics: ['redeliveredOften'],
    applies: ({ failure }) => failure.redelivery !== null,
    expression: ({ series }) => `${grown(series('redeliveredOften'), '1h')} > 0`,
    summary: 'Messages are delivered again and again without an outcome',
    threshold: ({ failure }) => `any with ${failure.redelivery?.countMax} earlier deliveries, in an hour`,
  },
  {
    name: 'OncewardStalled',
    severity: 'critical',
    severityElsewhere: 'warning',
    runbook: 'stalled',
    forMs: minuteMs,
    metrics: ['stalled'],
    expression: ({ series }) => `${onceOf(series('stalled'), ['consumer'])} > 30`,
    summary: 'No message has arrived for {{ $value | humanizeDuration }} although some wait',
    threshold: () => 'no message for 30s although some wait, for 1m',
  },
  {
    name: 'OncewardLagRising',
    severity: 'critical',
    severityElsewhere: 'warning',
    runbook: 'lag-rising',
    forMs: 10 * minuteMs,
    metrics: ['lag'],
    expression: rising,
    summary: '{{ $value | humanize }} messages wait at the broker, and their number grows',
    threshold: ({ objectives }) =>
      `more than lagRecordsMax (${objectives.lagRecordsMax}) and growing for 10m`,
  },
  {
    name: 'OncewardReadingTooSlow',
    severity: 'warning',
    runbook: 'reading-too-slow',
    forMs: 10 * minuteMs,
    metrics: ['lag', 'held'],
    applies: keepsWork,
    expression: context =>
      `${rising(context)} unless ${pendingOf(context)} > ${Math.floor(context.consumer.objectives.lagRecordsMax / 10)}`,
    summary: '{{ $value | humanize }} messages wait at the broker while the workers have little to do',
    threshold: ({ objectives }) =>
      `lag above lagRecordsMax (${objectives.lagRecordsMax}) and growing, stored work below a tenth of it, for 10m`,
  },
  {
    name: 'OncewardProcessingTooSlow',
    severity: 'warning',
    runbook: 'processing-too-slow',
    forMs: 10 * minuteMs,
    metrics: ['lag', 'held'],
    applies: keepsWork,
    expression: context => {
      const { lagRecordsMax } = context.consumer.objectives
      return `${pendingOf(context)} > ${Math.min(lagRecordsMax, countedMax)} unless ${lagOf(context)} > ${lagRecordsMax}`
    },
    summary:
      '{{ $value | humanize }} messages are stored and not processed, while the broker is read in time',
    threshold: ({ objectives }) =>
      `stored work above lagRecordsMax (${objectives.lagRecordsMax}), lag below it, for 10m`,
  },
  {
    name: 'OncewardOldestPending',
    severity: 'critical',
    severityElsewhere: 'warning',
    runbook: 'oldest-pending',
    forMs: 2 * minuteMs,
    metrics: ['heldOldest', 'effectLag'],
    expression: ({ consumer, series }) => {
      const seconds = number(consumer.objectives.lagMaxMs / 1_000)
      return `${onceOf(series('heldOldest'), ['consumer'])} > ${seconds} or ${onceOf(series('effectLag'), ['consumer'])} > ${seconds}`
    },
    summary: 'The oldest message that is not applied is {{ $value | humanizeDuration }} old',
    threshold: ({ objectives }) => `older than lagMax (${durationText(objectives.lagMaxMs)}) for 2m`,
  },
  {
    name: 'OncewardWorkUnserved',
    severity: 'critical',
    severityElsewhere: 'warning',
    runbook: 'work-unserved',
    forMs: 10 * minuteMs,
    metrics: ['heldUnserved'],
    expression: ({ series }) => `${onceOf(series('heldUnserved'), ['waits_for'])} > 0`,
    summary: '{{ $value | humanize }} acknowledged messages wait for {{ $labels.waits_for }}',
    threshold: () => 'any for 10m, of any consumer of the database',
  },
  {
    name: 'OncewardApplySlow',
    severity: 'warning',
    runbook: 'apply-slow',
    forMs: 10 * minuteMs,
    metrics: ['applyLatency'],
    expression: ({ consumer, series }) => {
      const seconds = consumer.objectives.applyP99MaxMs / 1_000
      const rate = (part: '_bucket' | '_sum' | '_count', by: string) =>
        `sum by (${by}) (rate(${series('applyLatency', {}, part)}[10m]))`
      if (seconds < largestBoundSeconds)
        return `histogram_quantile(0.99, ${rate('_bucket', 'consumer, le')}) > ${number(seconds)}`
      return `${rate('_sum', 'consumer')} / ${rate('_count', 'consumer')} > ${number(seconds)}`
    },
    summary: 'Handler calls take {{ $value | humanizeDuration }}',
    threshold: ({ objectives }) =>
      objectives.applyP99MaxMs / 1_000 < largestBoundSeconds
        ? `p99 above applyP99Max (${durationText(objectives.applyP99MaxMs)}) for 10m`
        : `mean above applyP99Max (${durationText(objectives.applyP99MaxMs)}, above the largest bucket of the histogram) for 10m`,
  },
  // A process without deliveries since its start has no delivery counter: silence is a running consumer whose
  // counter does not grow.
  {
    name: 'OncewardSourceIdle',
    severity: 'warning',
    runbook: 'source-idle',
    forMs: 5 * minuteMs,
    metrics: ['up', 'deliveries'],
    expression: ({ consumer, series }) => {
      const { idleMaxMs } = consumer.objectives
      const silence = window(Math.max(idleMaxMs ?? quietMs, windowLeastMs))
      const live = series('deliveries', { mode: 'live' })
      const runs = `${onceOf(series('up'), ['consumer'])} == 1`
      const ran = `max by (consumer) (last_over_time(${series('up')}[10m] offset ${silence})) >= 0`
      const usually = idleMaxMs === null ? ` and sum by (consumer) (increase(${live}[1h] offset 1d)) > 0` : ''
      return `${runs} and ${ran}${usually} unless ${grown(live, silence)} > 0`
    },
    summary: 'No messages arrive',
    threshold: ({ objectives }) =>
      objectives.idleMaxMs === null
        ? 'no message for 1h although some arrived in that hour of the day before'
        : `no message for idleMax (${durationText(objectives.idleMaxMs)})`,
  },
  {
    name: 'OncewardPartitionIdle',
    severity: 'info',
    runbook: 'partition-idle',
    forMs: 5 * minuteMs,
    metrics: ['checkpointAge'],
    applies: readsLog,
    expression: ({ consumer, series }) => {
      const { idleMaxMs } = consumer.objectives
      const age = (more = '') => `min by (consumer, partition) (${series('checkpointAge')}${more})`
      const silent = `${age()} > ${number((idleMaxMs ?? quietMs) / 1_000)}`
      return idleMaxMs === null ? `${silent} and ${age(' offset 1d')} < ${quietMs / 1_000}` : silent
    },
    summary: 'Partition {{ $labels.partition }} has not moved for {{ $value | humanizeDuration }}',
    threshold: ({ objectives }) =>
      objectives.idleMaxMs === null
        ? 'not moved for 1h although it moved at that time of the day before'
        : `not moved for idleMax (${durationText(objectives.idleMaxMs)})`,
  },
  {
    name: 'OncewardPartitionsWaiting',
    severity: 'warning',
    runbook: 'partitions-waiting',
    forMs: 5 * minuteMs,
    metrics: ['waitingPartitions'],
    applies: readsLog,
    expression: ({ series }) => `sum by (consumer) (${series('waitingPartitions')}) > 0`,
    summary: '{{ $value | humanize }} added partitions wait until those before them are drained',
    threshold: () => 'any for 5m',
  },
  {
    name: 'OncewardPartitionStuck',
    severity: 'critical',
    severityElsewhere: 'warning',
    runbook: 'partition-stuck',
    forMs: 5 * minuteMs,
    metrics: ['checkpointAge', 'lag'],
    applies: readsLog,
    expression: ({ consumer, series }) => {
      const by = ['consumer', 'partition']
      const age = `min by (consumer, partition) (${series('checkpointAge')})`
      return `${age} > ${number(consumer.objectives.lagMaxMs / 1_000)} and ${onceOf(series('lag'), by)} > 0`
    },
    summary:
      'Partition {{ $labels.partition }} has records and has not moved for {{ $value | humanizeDuration }}',
    threshold: ({ objectives }) =>
      `not moved for lagMax (${durationText(objectives.lagMaxMs)}) while records wait, for 5m`,
  },
] as const satisfies readonly Alert[]

import type { AlertName } from '../../src/telemetry/alerts/alerts.ts'
import { type AttentionReason, attentionReasons } from '../../src/telemetry/attention-reason.ts'
import {
  catalogue,
  type Label,
  type MetricKey,
  prometheusLabel,
  prometheusName,
} from '../../src/telemetry/catalogue.ts'

/** Series, a minute a value as promtool writes them, and the minute at which they are looked at. */
export interface Case {
  readonly series: readonly InputSeries[]
  readonly atMinute: number
}
export interface InputSeries {
  readonly series: string
  readonly values: string
}

type Labels = Partial<Record<Label, string>> & { le?: string }

/** A series as a process exports it: with every label of the metric. */
export function exported(key: MetricKey, values: string, labels: Labels = {}, part = ''): InputSeries {
  const spec = catalogue[key]
  const usual: Labels = { consumer: 'payment_capture', mode: 'live' }
  const own = (spec.labels as readonly Label[]).map(
    label => `${prometheusLabel(label)}="${labels[label] ?? usual[label] ?? 'any'}"`,
  )
  const le = labels.le === undefined ? [] : [`le="${labels.le}"`]
  return {
    series: `${prometheusName(spec)}${part}{${[...own, ...le, 'otel_scope_name="onceward"', 'job="a"'].join(',')}}`,
    values,
  }
}
const at = (atMinute: number, ...series: readonly InputSeries[]): Case => ({ atMinute, series })

/** Seconds of a batch: of ten a minute, how many within each bound. */
const batches = (within: Readonly<Record<string, number>>) =>
  Object.entries(within).map(([le, each]) => exported('applyLatency', `0+${each}x60`, { le }, '_bucket'))

/** What a process exports of a partition it does not know any more. */
const unknown = Array(61).fill('NaN').join(' ')
const born = '_x10 1x200'
const scrapeGap = '3x100 _x20 3x100'
const burst = '0 5 5x60'
const steady = '0+1x60'
const dayMinutes = 1_440
const running = exported('up', `1x${dayMinutes + 200}`)

const attention = (reason: string, values: string, failureClass = 'transient') =>
  exported('attention', values, { reason, class: failureClass })
const oldest = (reason: string, values: string) => exported('attentionOldest', values, { reason })

/** An alert on messages that wait now: it fires for as long as they do, and no longer. */
function waits(reason: AttentionReason, least: number): { fires: Case[]; quiet: Case[] } {
  const others = attentionReasons.filter(other => other !== reason)
  const parts = [1, Math.max(1, least - 1)].map((count, index) =>
    attention(reason, `${count}x600`, `class ${index}`),
  )
  return {
    fires: [
      at(20, attention(reason, `0x10 ${least}x600`)),
      at(500, attention(reason, `0x10 ${least}x600`)),
      at(20, ...parts),
      // The database is away since minute 15.
      at(20, attention(reason, `${least}x15 ${Array(30).fill('NaN').join(' ')}`)),
    ],
    quiet: [
      at(20, ...others.map(other => attention(other, '1000x60'))),
      at(20, attention(reason, '0x60')),
      at(20, attention(reason, `${least}x15 0x60`)),
      ...(least > 1 ? [at(20, attention(reason, `${least - 1}x60`))] : []),
    ],
  }
}

export const cases: Readonly<Record<AlertName, { fires: readonly Case[]; quiet: readonly Case[] }>> = {
  OncewardDown: {
    fires: [at(10, exported('up', '1 0x30')), at(10)],
    quiet: [at(20, exported('up', '1x30')), at(6, exported('up', '1 1 0 0 0 1x30'))],
  },
  OncewardPaused: {
    fires: [at(20, exported('paused', '1x30'))],
    quiet: [at(20, exported('paused', '0x30')), at(8, exported('paused', '1x5 0x30'))],
  },
  OncewardBraked: {
    fires: [at(5, exported('braked', '1x30', { type: 'case-opened', cause: '42703', version: '7' }))],
    quiet: [at(20), at(20, exported('braked', `1x3 ${unknown}`, { type: 't', cause: 'c', version: '1' }))],
  },
  OncewardRedeliveredTooOften: {
    fires: [at(20, exported('redeliveredOften', born))],
    quiet: [at(175, exported('redeliveredOften', scrapeGap)), at(20, exported('redeliveredOften', '0x30'))],
  },
  OncewardLagRising: {
    fires: [
      at(40, exported('lag', '0+1000x60', { partition: '0' })),
      at(40, exported('lag', '0+1000x60', { partition: '0' }), exported('lag', unknown, { partition: '1' })),
    ],
    quiet: [
      at(40, exported('lag', '20000x60', { partition: '0' })),
      at(30, exported('lag', '60000-1000x60', { partition: '0' })),
      at(40, exported('lag', '0+10x60', { partition: '0' })),
    ],
  },
  OncewardReadingTooSlow: {
    fires: [at(40, exported('lag', '0+1000x60'), exported('held', '10x60', { state: 'stored' }))],
    quiet: [
      at(40, exported('lag', '0+1000x60'), exported('held', '5000x60', { state: 'stored' })),
      at(40, exported('lag', '10x60'), exported('held', '10x60', { state: 'stored' })),
    ],
  },
  OncewardPartitionsWaiting: {
    fires: [at(20, exported('waitingPartitions', '2x60'))],
    quiet: [at(20, exported('waitingPartitions', '0x60'))],
  },
  OncewardStalled: {
    fires: [at(20, exported('stalled', '0+60x60'))],
    quiet: [at(20, exported('stalled', '0x60')), at(20, exported('stalled', '0 0 40 0x60'))],
  },
  OncewardProcessingTooSlow: {
    fires: [
      at(20, exported('lag', '5x60'), exported('held', '20000x60', { state: 'stored' })),
      at(20, exported('held', '20000x60', { state: 'waiting' })),
    ],
    quiet: [
      at(20, exported('lag', '20000x60'), exported('held', '20000x60', { state: 'stored' })),
      at(20, exported('lag', '5x60'), exported('held', '20000x60', { state: 'parked' })),
    ],
  },
  OncewardOldestPending: {
    fires: [at(30, exported('heldOldest', '0+10x60')), at(30, exported('effectLag', '0+10x60'))],
    quiet: [at(30, exported('heldOldest', '30x60'), exported('effectLag', '30x60'))],
  },
  OncewardApplySlow: {
    fires: [at(30, ...batches({ 5: 0, 10: 10, '+Inf': 10 }))],
    quiet: [
      at(30, ...batches({ 0.1: 10, 5: 10, 10: 10, '+Inf': 10 })),
      at(30, ...batches({ 5: 0, '+Inf': 0 })),
    ],
  },
  OncewardSourceIdle: {
    fires: [
      at(dayMinutes + 120, running, exported('deliveries', `0+10x${dayMinutes} 14400x200`)),
      at(dayMinutes + 120, running, exported('deliveries', `0+10x${dayMinutes}`)),
    ],
    quiet: [
      at(dayMinutes + 120, running, exported('deliveries', `0x${dayMinutes + 200}`)),
      at(dayMinutes + 120, running, exported('deliveries', `0+10x${dayMinutes + 200}`)),
      at(
        dayMinutes + 120,
        exported('up', `_x${dayMinutes + 90} 1x200`),
        exported('deliveries', `0+10x${dayMinutes} 14400x200`),
      ),
    ],
  },
  OncewardPartitionIdle: {
    fires: [at(1_480, exported('checkpointAge', '0x1400 0+60x200', { partition: '3' }))],
    quiet: [
      at(1_480, exported('checkpointAge', '0x1600', { partition: '3' })),
      at(1_480, exported('checkpointAge', '90000+60x1600', { partition: '3' })),
    ],
  },
  OncewardPartitionStuck: {
    fires: [at(30, exported('checkpointAge', '0+60x60'), exported('lag', '5x60'))],
    quiet: [
      at(30, exported('checkpointAge', '0+60x60'), exported('lag', '0x60')),
      at(30, exported('checkpointAge', '5x60'), exported('lag', '5x60')),
    ],
  },
  OncewardDuplicateSpike: {
    fires: [at(30, exported('duplicates', '0+10x60'), exported('deliveries', '0+20x60'))],
    quiet: [
      at(30, exported('duplicates', '0+1x60'), exported('deliveries', '0+100x60')),
      at(30, exported('duplicates', '0+1x10 10x50'), exported('deliveries', '0+1x10 10x50')),
      at(30, exported('duplicates', '0+10x60', { mode: 'replay' }), exported('deliveries', '0+20x60')),
    ],
  },
  OncewardConflict: waits('conflict', 1),
  OncewardDeadLetters: waits('set aside', 3),
  OncewardRetriesExhausted: waits('exhausted', 3),
  OncewardPoison: waits('poison', 1),
  OncewardUnreadable: waits('unreadable', 1),
  OncewardCorruption: waits('corrupt', 1),
  OncewardQuarantined: waits('quarantined', 3),
  OncewardSetAsideTooLong: {
    fires: [
      at(60, attention('set aside', '1x100'), oldest('set aside', '86000+60x100')),
      at(60, attention('exhausted', '2x100'), oldest('exhausted', '90000x100')),
    ],
    quiet: [
      at(60, attention('set aside', '3x100'), oldest('set aside', '90000x100')),
      at(60, attention('set aside', '1x100'), oldest('set aside', '0+60x100')),
      at(60, attention('unreadable', '1x100'), oldest('unreadable', '90000x100')),
    ],
  },
  OncewardParkingNearCap: {
    fires: [
      at(5, exported('parkingUsed', '0.9x20', { cap: 'total' })),
      at(15, exported('parkingFull', born)),
    ],
    quiet: [at(5, exported('parkingUsed', '0.5x20', { cap: 'total' }), exported('parkingFull', '0x20'))],
  },
  OncewardLeasesExpired: {
    fires: [at(30, exported('leasesExpired', steady)), at(10, exported('heldStuck', '1x20'))],
    quiet: [at(30, exported('leasesExpired', '0 1 2 2x60'), exported('heldStuck', '0x60'))],
  },
  OncewardCommitFailures: {
    fires: [at(30, exported('commitFailures', steady))],
    quiet: [
      at(9, exported('commitFailures', burst)),
      at(30, exported('commitFailures', burst)),
      at(30, exported('commitFailures', steady, { reason: 'contention' })),
    ],
  },
  OncewardOffsetCommitFailures: {
    fires: [
      at(30, exported('positionCommits', steady, { status: 'failure' })),
      at(30, exported('settleMissed', steady)),
    ],
    quiet: [
      at(30, exported('positionCommits', steady, { status: 'success' })),
      at(9, exported('settleMissed', burst), exported('positionCommits', burst, { status: 'failure' })),
    ],
  },
  OncewardOutboxGrowing: {
    fires: [
      at(20, exported('outboxOldest', '0+60x30', { broker: 'rabbitmq' })),
      at(20, exported('outboxFailing', '1x30', { broker: 'kafka' })),
    ],
    quiet: [
      at(20, exported('outboxOldest', '5x30', { broker: 'rabbitmq' })),
      at(20, exported('outboxOldest', '0+60x30', { broker: 'cdc' })),
    ],
  },
  OncewardWorkUnserved: {
    fires: [at(20, exported('heldUnserved', '3x30', { 'waits.for': 'a worker of orders, generation 1' }))],
    quiet: [
      at(20, exported('heldUnserved', '0x30', { 'waits.for': 'a worker of orders, generation 1' })),
      at(20, exported('heldUnserved', '3x8 0x30', { 'waits.for': 'the approval of campaign 7' })),
    ],
  },
  OncewardOutboxUnserved: {
    fires: [
      at(20, exported('outboxUnserved', '3x30', { broker: 'rabbitmq', destination: 'rabbitmq:eu/orders' })),
    ],
    quiet: [
      at(20, exported('outboxUnserved', '0x30', { broker: 'rabbitmq', destination: 'rabbitmq:eu/orders' })),
      at(20, exported('outboxUnserved', '3x2 0x30', { broker: 'rabbitmq', destination: 'rabbitmq:eu/a' })),
      at(20, exported('outboxUnserved', '3x30', { broker: 'cdc', destination: 'cdc' })),
    ],
  },
  OncewardUnknownEffects: {
    fires: [
      at(20, exported('ledger', '1x30', { target: 'gateway', state: 'unknown' })),
      at(20, exported('ledger', '1x30', { target: 'gateway', state: 'failed' })),
    ],
    quiet: [
      at(20, exported('ledger', '9x30', { target: 'gateway', state: 'pending' })),
      at(8, exported('ledger', '1x5 0x30', { target: 'gateway', state: 'unknown' })),
    ],
  },
  OncewardEffectsDelayed: {
    fires: [at(20, exported('ledgerOldest', '0+60x30', { target: 'gateway' }))],
    quiet: [at(20, exported('ledgerOldest', '10x30', { target: 'gateway' }))],
  },
  OncewardVersionGap: {
    fires: [
      at(15, exported('results', born, { code: 'gap' })),
      at(15, exported('results', steady, { code: 'rebuild' })),
    ],
    quiet: [
      at(15, exported('results', steady, { code: 'stale' })),
      at(60, exported('results', burst, { code: 'gap' })),
    ],
  },
  OncewardHorizonTooShort: {
    fires: [at(20, exported('behindHorizon', born))],
    quiet: [at(175, exported('behindHorizon', scrapeGap)), at(20, exported('behindHorizon', '0x30'))],
  },
  OncewardLoss: {
    fires: [at(5, exported('losses', '1x30'))],
    quiet: [at(5, exported('losses', '0x30'))],
  },
}

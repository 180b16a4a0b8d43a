import type { CheckTimes } from './check.ts'
import type { Broker, Role } from './contenders/contenders.ts'
import type { Curve } from './curves/curves.ts'
import type { ContestRates, Effects } from './effects/effects.ts'
import { type History, slowdown } from './effects/history.ts'
import type { ParkedRates } from './failure/parked.ts'
import type { Purge } from './failure/purge.ts'
import type { MarkerCost } from './markers/markers.ts'
import { median } from './median.ts'
import type { Explained } from './observed/explain.ts'
import type { Latency } from './observed/latency.ts'
import type { Memory } from './observed/memory.ts'
import type { PeerResult } from './peers/measure.ts'
import type { Rebalance } from './rebalance/rebalance.ts'
import type { Measured } from './rounds.ts'
import type { TransformRates } from './transform/transform.ts'

export interface Results {
  readonly measured: readonly Measured[]
  readonly effects: Effects | null
  readonly failure: ContestRates | null
  readonly parked: ParkedRates | null
  readonly history: readonly History[] | null
  readonly markers: readonly MarkerCost[] | null
  readonly curves: readonly Curve[] | null
  readonly purge: Purge | null
  readonly explain: Explained | null
  readonly latency: Latency | null
  readonly memory: Memory | null
  readonly rebalance: Rebalance | null
  readonly check: CheckTimes | null
  readonly transform: TransformRates | null
  readonly peers: readonly PeerResult[] | null
}

export interface Target {
  readonly name: string
  readonly value: number
  readonly bound: string
  readonly reached: boolean
}

export interface Ratios {
  readonly vsRaw: number | null
  readonly vsHandBatched: number | null
  readonly vsTextbook: number | null
  readonly vsBareSql: number | null
  /** Of the message form. */
  readonly messageVsHandBatched: number | null
}

/**
 * The lower of ordered and random ids, each the ratio of two medians; null when one of the two was not
 * measured.
 */
export function ratioOf(measured: readonly Measured[], broker: Broker, role: Role, to: Role): number | null {
  const rate = (ids: string, wanted: Role) => {
    const found = measured.find(
      one => one.ids === ids && one.contender.broker === broker && one.contender.role === wanted,
    )
    return found === undefined ? null : median(found.rates)
  }
  const ratios = ['ordered', 'random'].map(
    ids => (rate(ids, role) ?? Number.NaN) / (rate(ids, to) ?? Number.NaN),
  )
  const lowest = Math.min(...ratios)
  return Number.isNaN(lowest) ? null : lowest
}

const brokers: readonly Broker[] = ['rabbitmq', 'postgres', 'kafka', 'stream']

/** Of the batch form, on the first of the brokers that were measured. What was not measured is null. */
export function ratiosOf(measured: readonly Measured[]): Ratios | null {
  const broker = brokers.find(name => measured.some(one => one.contender.broker === name))
  if (broker === undefined) return null
  const to = (role: Role, of: Role = 'batch form') => {
    const ratio = ratioOf(measured, broker, of, role)
    return ratio === null ? null : round(ratio)
  }
  return {
    vsRaw: to('raw'),
    vsHandBatched: to('hand batch'),
    vsTextbook: to('textbook'),
    vsBareSql: to('bare sql'),
    messageVsHandBatched: to('hand batch', 'message form'),
  }
}

export function targetsOf({
  measured,
  effects,
  failure,
  parked,
  history,
  markers,
  purge,
  explain,
  latency,
  memory,
  check,
  transform,
}: Results): readonly Target[] {
  const targets: Target[] = []
  const atLeast = (broker: Broker, role: Role, to: Role, bound: number) => {
    const value = ratioOf(measured, broker, role, to)
    if (value === null) return
    targets.push({ name: `${broker}: ${role} / ${to}`, value, bound: `≥ ${bound}`, reached: value >= bound })
  }
  const atMost = (name: string, value: number, bound: number) =>
    targets.push({ name, value, bound: `≤ ${bound}`, reached: value <= bound })
  atLeast('rabbitmq', 'batch form', 'hand batch', 0.93)
  atLeast('rabbitmq', 'batch form', 'textbook', 8)
  atLeast('rabbitmq', 'message form', 'textbook', 12)
  atLeast('rabbitmq', 'message form', 'hand batch', 0.7)
  for (const broker of ['postgres', 'kafka', 'stream'] as const)
    atLeast(broker, 'message form', 'hand prepared', 0.85)
  atLeast('rabbitmq', 'kysely form', 'hand kysely', 0.9)
  atLeast('rabbitmq', 'drizzle form', 'hand drizzle', 0.9)
  atLeast('rabbitmq', 'knex form', 'hand knex', 0.9)
  atLeast('rabbitmq', 'measured form', 'batch form', 0.97)
  atLeast('rabbitmq', 'receipts batch form', 'money batch form', 0.8)
  atLeast('rabbitmq', 'receipts message form', 'money message form', 0.9)
  atLeast('postgres', 'batch form', 'hand batch', 0.9)
  atLeast('postgres', 'batch form', 'textbook', 8)
  atLeast('kafka', 'batch form', 'hand batch', 0.93)
  atLeast('kafka', 'checkpoint form', 'hand checkpoint', 0.85)
  atLeast('kafka', 'key order form', 'partition order form', 0.9)
  atLeast('kafka', '64 uneven form', 'batch form', 0.9)
  atLeast('stream', 'batch form', 'hand batch', 0.93)
  atLeast('stream', 'checkpoint form', 'hand checkpoint', 0.85)
  for (const { of, to, atLeast: bound, ratio: value } of [...(effects?.aims ?? []), ...(failure?.aims ?? [])])
    targets.push({ name: `${of} / ${to}`, value, bound: `≥ ${bound}`, reached: value >= bound })
  const dispatched = effects?.rates.filter(({ name }) => name === 'dispatcher') ?? []
  if (dispatched.length > 0) {
    const value = Math.min(...dispatched.map(({ rates }) => median(rates))) / 1_000
    targets.push({ name: 'dispatcher, thousand calls/s', value, bound: '≥ 14', reached: value >= 14 })
  }
  if (parked !== null) {
    for (const { what, ratio } of parked.grows) atMost(`${what}, 100,000 parked / 1,000`, ratio, 3)
    const value = parked.redrive / parked.live
    targets.push({ name: 'redrive / live', value, bound: '≥ 0.5', reached: value >= 0.5 })
  }
  const past = history?.find(({ ids }) => ids === 'ordered')
  if (past !== undefined) {
    const value = slowdown(past)
    targets.push({ name: 'rate with history / without', value, bound: '≥ 0.95', reached: value >= 0.95 })
  }
  for (const { ids, settings, checkpoint, full, empty } of markers ?? []) {
    const bound = ids === 'ordered' ? 0.95 : 0.6
    const value = full.rate / empty.rate
    const name = `${settings} settings, ${ids} ids${checkpoint ? ' after CHECKPOINT' : ''}, all markers / none`
    targets.push({ name, value, bound: `≥ ${bound}`, reached: value >= bound })
  }
  if (purge !== null) {
    const value = median(purge.beside) / median(purge.alone)
    targets.push({
      name: 'rate while markers are removed / alone',
      value,
      bound: '≥ 0.9',
      reached: value >= 0.9,
    })
  }
  for (const { by, fewMs, manyMs } of explain?.asked ?? [])
    atMost(`explain by ${by}, many rows / few`, manyMs / fewMs, 2)
  if (latency !== null) {
    const { unprotected, 'by hand': hand } = latency.beside
    const added = latency.p50 - unprotected.p50
    atMost('latency added to the bare effect, p50 at 50/s, in commits', added / latency.commitP50, 2)
    atMost('latency in all, p50 at 50/s, in commits', latency.p50 / latency.commitP50, 2.6)
    atMost('latency, p50 / inbox by hand', latency.p50 / hand.p50, 1.15)
    atMost('latency, p99 / inbox by hand', latency.p99 / hand.p99, 2)
    atMost(
      'p50 beside slow neighbours / without',
      latency.beside['slow neighbour'].p50 / latency.beside['per message'].p50,
      1.15,
    )
  }
  if (memory !== null)
    atMost('memory, last third / first third', memory.lastThirdMib / memory.firstThirdMib, 1.1)
  if (transform !== null) {
    const { ratio: value } = transform
    targets.push({ name: 'transform / by hand', value, bound: '≥ 0.9', reached: value >= 0.9 })
  }
  for (const { kind, one, all } of check?.kinds ?? [])
    atMost(`check ${kind}, ${check!.contracts} contracts / one`, all / one, 3)
  return targets
}

export function jsonLine(results: Results): string {
  const rows = results.measured.map(({ contender, ids, rates, cpuMicros }) => ({
    name: `${contender.name}, ${ids} ids`,
    rate: Math.round(median(rates)),
    cpuMicros: round(median(cpuMicros)),
  }))
  const {
    effects,
    failure,
    parked,
    history,
    markers,
    curves,
    purge,
    explain,
    latency,
    memory,
    rebalance,
    check,
    transform,
    peers,
  } = results
  const targets = targetsOf(results).map(target => ({ ...target, value: round(target.value) }))
  return JSON.stringify({
    rows,
    ratios: ratiosOf(results.measured),
    targets,
    effects,
    failure,
    parked,
    history,
    markers,
    curves,
    purge,
    explain,
    latency,
    memory,
    rebalance,
    check,
    transform,
    peers: peers ?? [],
  })
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}

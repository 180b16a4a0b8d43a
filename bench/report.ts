import type { Broker, Role } from './contenders/contenders.ts'
import { median } from './median.ts'
import type { Latency } from './observed/latency.ts'
import type { Memory } from './observed/memory.ts'
import type { Measured } from './rounds.ts'

export interface Results {
  readonly measured: readonly Measured[]
  readonly latency: Latency | null
  readonly memory: Memory | null
}

export interface Target {
  readonly name: string
  readonly value: number
  readonly bound: string
  readonly reached: boolean
}

export interface Ratios {
  readonly vsRaw: number
  readonly vsHandBatched: number
  readonly vsTextbook: number
  readonly vsBareSql: number
}

/** The lower of ordered and random ids, each the ratio of two medians; null when one of the two was not measured. */
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

/** Of the batch form; on RabbitMQ where it was measured. */
export function ratiosOf(measured: readonly Measured[]): Ratios | null {
  const broker = measured.some(one => one.contender.broker === 'rabbitmq') ? 'rabbitmq' : 'postgres'
  const to = (role: Role) => round(ratioOf(measured, broker, 'batch form', role) ?? Number.NaN)
  if (measured.length === 0) return null
  return {
    vsRaw: to('raw'),
    vsHandBatched: to('hand batch'),
    vsTextbook: to('textbook'),
    vsBareSql: to('bare sql'),
  }
}

export function targetsOf({ measured, latency, memory }: Results): readonly Target[] {
  const targets: Target[] = []
  const atLeast = (broker: Broker, role: Role, to: Role, bound: number) => {
    const value = ratioOf(measured, broker, role, to)
    if (value === null) return
    targets.push({ name: `${broker}: ${role} / ${to}`, value, bound: `≥ ${bound}`, reached: value >= bound })
  }
  const atMost = (name: string, value: number, bound: number) =>
    targets.push({ name, value, bound: `≤ ${bound}`, reached: value <= bound })
  atLeast('rabbitmq', 'batch form', 'hand batch', 0.9)
  atLeast('rabbitmq', 'batch form', 'textbook', 8)
  atLeast('rabbitmq', 'message form', 'textbook', 4)
  atLeast('postgres', 'batch form', 'textbook', 8)
  if (latency !== null) atMost('latency p50 at 50/s, in commits', latency.p50 / latency.commitP50, 2)
  if (memory !== null)
    atMost('memory, last third / first third', memory.lastThirdMib / memory.firstThirdMib, 1.1)
  return targets
}

export function jsonLine(results: Results): string {
  const rows = results.measured.map(({ contender, ids, rates }) => ({
    name: `${contender.name}, ${ids} ids`,
    rate: Math.round(median(rates)),
  }))
  const { latency, memory } = results
  const targets = targetsOf(results).map(target => ({ ...target, value: round(target.value) }))
  return JSON.stringify({ rows, ratios: ratiosOf(results.measured), targets, latency, memory })
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}

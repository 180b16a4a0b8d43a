import type { Effects } from './effects/effects.ts'
import { median } from './median.ts'
import { peerLines } from './peers/print-peers.ts'
import { type Results, targetsOf } from './report.ts'
import type { Measured } from './rounds.ts'

const whole = (value: number) => Math.round(value).toLocaleString('en-US')
const hundredths = (value: number | null) => (value === null ? '–' : value.toFixed(2))

/** The report for people: rates, ratios of the Onceward rows, targets. */
export function reportLines(results: Results): string[] {
  const { measured, effects, failure, parked, history, purge, explain, latency, memory, rebalance, check } =
    results
  const lines: string[] = []
  for (const ids of ['ordered', 'random'] as const) {
    const rows = measured.filter(one => one.ids === ids)
    if (rows.length > 0) lines.push('', `${ids} ids, messages per second`, ...rateLines(rows))
  }
  if (effects !== null) lines.push('', 'effects, messages per second', ...effectLines(effects))
  if (failure !== null)
    lines.push('', 'failures, messages per second', ...effectLines({ ...failure, relays: [] }))
  if (parked !== null) {
    lines.push('', 'parked messages, median milliseconds; messages per second')
    for (const { what, parked: count, ms } of parked.looks)
      lines.push(`  ${what.padEnd(8)} over ${whole(count).padStart(7)}  ${hundredths(ms)} ms`)
    lines.push(`  live ${whole(parked.live)}  redrive ${whole(parked.redrive)}`)
  }
  for (const { rows, ids, empty, full } of history ?? []) {
    lines.push(
      '',
      `${whole(rows)} completed rows in inbox and ledger, ${ids} ids, messages per second`,
      `  none before ${whole(median(empty))}  all before ${whole(median(full))}  ${(median(full) / median(empty)).toFixed(2)}`,
    )
  }
  if (results.markers !== null && results.markers.length > 0)
    lines.push('', 'markers of one consumer: messages/s, WAL bytes, whole pages, pages read for each message')
  for (const { markers, ids, settings, checkpoint, empty, full } of results.markers ?? []) {
    lines.push(`  ${settings} settings, ${ids} ids${checkpoint ? ', after CHECKPOINT' : ''}`)
    for (const [name, costs] of [
      ['none', empty],
      [whole(markers), full],
    ] as const)
      lines.push(
        `    ${name.padStart(10)}${whole(costs.rate).padStart(9)}${whole(costs.walBytes).padStart(8)}${costs.fullPages.toFixed(3).padStart(9)}${costs.pagesRead.toFixed(3).padStart(9)}`,
      )
  }
  if (purge !== null) {
    lines.push(
      '',
      `${whole(purge.markers)} old markers, ${whole(purge.removedPerSecond)} of them removed a second, messages per second`,
      `  alone ${whole(median(purge.alone))}  beside the removal ${whole(median(purge.beside))}  ${(median(purge.beside) / median(purge.alone)).toFixed(2)}`,
    )
  }
  if (explain !== null) {
    lines.push(
      '',
      `explain over ${whole(explain.few)} and ${whole(explain.many)} markers, median milliseconds`,
    )
    for (const { by, fewMs, manyMs } of explain.asked)
      lines.push(`  by ${by.padEnd(26)}${hundredths(fewMs).padStart(8)}${hundredths(manyMs).padStart(8)}`)
  }
  if (latency !== null) {
    lines.push('', 'one message at a time, 50 per second: confirm to commit, milliseconds')
    const { beside, ...onceward } = latency
    for (const [who, times] of Object.entries({ 'batch form': onceward, ...beside }))
      lines.push(
        `  ${who.padEnd(16)}p50 ${hundredths(times.p50)}  p95 ${hundredths(times.p95)}  p99 ${hundredths(times.p99)}  inside p50 ${hundredths(times.insideP50)}  one bare commit p50 ${hundredths(times.commitP50)}`,
      )
  }
  if (memory !== null) {
    lines.push('', `resident memory over ${whole(memory.count)} messages at ${whole(memory.rate)}/s`)
    lines.push(
      `  first third ${whole(memory.firstThirdMib)} MiB  last third ${whole(memory.lastThirdMib)} MiB  most ${whole(memory.mostMib)} MiB`,
    )
  }
  if (rebalance !== null) {
    lines.push('', 'one of two consumers of a topic killed under backlog, seconds after the kill')
    lines.push(
      `  its partitions move again ${hundredths(rebalance.movingS)}  the survivor is at its full rate on all of them ${hundredths(rebalance.fullS)}`,
      `  messages per second: both ${whole(rebalance.rateBefore)}, survivor until then ${whole(rebalance.rateBetween)}, survivor with all ${whole(rebalance.rateAfter)}`,
    )
  }
  if (check !== null) {
    lines.push(
      '',
      `onceward check, ${check.contracts} contracts and one, milliseconds with the start of the process`,
    )
    for (const { kind, one, all } of check.kinds)
      lines.push(`  ${kind.padEnd(18)}  one ${whole(one)}  all ${whole(all)}`)
  }
  for (const { name, axis, points } of results.curves ?? []) {
    lines.push('', `${name}: microseconds for each message, by ${axis}`)
    for (const { at, micros, cpuMicros } of points)
      lines.push(
        `  ${whole(at).padStart(12)}${micros.toFixed(1).padStart(10)}  (its own processor time ${cpuMicros.toFixed(1)})`,
      )
  }
  if (results.transform !== null) {
    lines.push('', 'one topic into another, records per second (processor time a record)')
    for (const { name, all, cpuMicros } of results.transform.rates)
      lines.push(
        `  ${name.padEnd(34)}${whole(median(all)).padStart(9)}  (${hundredths(median(cpuMicros))} us)`,
      )
    lines.push(`  ${hundredths(results.transform.ratio)} × by hand`)
  }
  if (results.peers !== null) lines.push('', 'peers, messages per second', ...peerLines(results.peers))
  const targets = targetsOf(results)
  if (targets.length > 0) lines.push('', 'targets (the lower ratio of ordered and random ids)')
  for (const { name, value, bound, reached } of targets) {
    lines.push(
      `  ${reached ? 'reached    ' : 'not reached'}  ${name.padEnd(46)} ${value.toFixed(2).padStart(6)}  ${bound}`,
    )
  }
  return lines
}

function effectLines({ rates, relays }: Effects): string[] {
  const line = (name: string, all: readonly number[]) =>
    `  ${name.padEnd(40)}${whole(median(all)).padStart(9)}${`${whole(Math.min(...all))} – ${whole(Math.max(...all))}`.padStart(20)}`
  return [
    ...rates.map(({ name, ids, rates }) => line(`${name}, ${ids} ids`, rates)),
    ...relays.flatMap(({ broker, hand, ours }) => [
      line(`relay to ${broker} by hand`, hand),
      line(`relay to ${broker}`, ours),
    ]),
  ]
}

const columns = [
  ['/raw', 'raw'],
  ['/hand', 'hand batch'],
  ['/prep', 'hand prepared'],
  ['/check', 'hand checkpoint'],
  ['/text', 'textbook'],
  ['/bare', 'bare sql'],
] as const

function rateLines(rows: readonly Measured[]): string[] {
  const titles = columns.map(([title]) => title.padStart(7)).join('')
  const header = `  ${''.padEnd(28)}${'median'.padStart(9)}${'min – max'.padStart(20)}${'cpu us'.padStart(8)}${titles}`
  const lines = rows.map(({ contender, rates, cpuMicros }) => {
    const span = `${whole(Math.min(...rates))} – ${whole(Math.max(...rates))}`
    const ratios = columns.map(([, role]) => {
      const to = rows.find(one => one.contender.broker === contender.broker && one.contender.role === role)
      return hundredths(to === undefined ? null : median(rates) / median(to.rates)).padStart(7)
    })
    return `  ${contender.name.padEnd(28)}${whole(median(rates)).padStart(9)}${span.padStart(20)}${median(cpuMicros).toFixed(1).padStart(8)}${ratios.join('')}`
  })
  return [header, ...lines]
}

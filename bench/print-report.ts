import { median } from './median.ts'
import { type Results, targetsOf } from './report.ts'
import type { Measured } from './rounds.ts'

const whole = (value: number) => Math.round(value).toLocaleString('en-US')
const hundredths = (value: number | null) => (value === null ? '–' : value.toFixed(2))

/** The report for people: rates, ratios of the Onceward rows, targets. */
export function reportLines(results: Results): string[] {
  const { measured, latency, memory } = results
  const lines: string[] = []
  for (const ids of ['ordered', 'random'] as const) {
    const rows = measured.filter(one => one.ids === ids)
    if (rows.length > 0) lines.push('', `${ids} ids, messages per second`, ...rateLines(rows))
  }
  if (latency !== null) {
    lines.push('', 'one message at a time, 50 per second')
    lines.push(
      `  confirm to commit  p50 ${hundredths(latency.p50)} ms  p95 ${hundredths(latency.p95)} ms  (inside the consumer p50 ${hundredths(latency.insideP50)} ms)`,
      `  one bare commit    p50 ${hundredths(latency.commitP50)} ms`,
    )
  }
  if (memory !== null) {
    lines.push('', `resident memory over ${whole(memory.count)} messages at ${whole(memory.rate)}/s`)
    lines.push(
      `  first third ${whole(memory.firstThirdMib)} MiB  last third ${whole(memory.lastThirdMib)} MiB  most ${whole(memory.mostMib)} MiB`,
    )
  }
  lines.push('', 'targets (the lower ratio of ordered and random ids)')
  for (const { name, value, bound, reached } of targetsOf(results)) {
    lines.push(
      `  ${reached ? 'reached    ' : 'not reached'}  ${name.padEnd(40)} ${value.toFixed(2).padStart(6)}  ${bound}`,
    )
  }
  return lines
}

function rateLines(rows: readonly Measured[]): string[] {
  const header = `  ${''.padEnd(26)}${'median'.padStart(9)}${'min – max'.padStart(20)}${'/raw'.padStart(7)}${'/hand'.padStart(7)}${'/text'.padStart(7)}${'/bare'.padStart(7)}`
  const lines = rows.map(row => {
    const { contender, rates } = row
    const { broker, role } = contender
    const span = `${whole(Math.min(...rates))} – ${whole(Math.max(...rates))}`
    const ratios = (['raw', 'hand batch', 'textbook', 'bare sql'] as const).map(to => {
      const both = rows.filter(
        one => one.contender.broker === broker && [role, to].includes(one.contender.role),
      )
      return hundredths(
        median(rates) / median((both.find(one => one.contender.role === to) ?? row).rates),
      ).padStart(7)
    })
    return `  ${contender.name.padEnd(26)}${whole(median(rates)).padStart(9)}${span.padStart(20)}${ratios.join('')}`
  })
  return [header, ...lines]
}

import { mkdirSync, writeFileSync } from 'node:fs'
import { docs, machineLine, replacePart } from '../measured-page.ts'
import type { PreparedPlace } from '../place.ts'
import type { Curve } from './curves.ts'
import { lineChart } from './line-chart.ts'

/** Replaces the curves of docs/benchmarks.md and their charts. */
export async function writeCurvesPage(
  place: PreparedPlace,
  curves: readonly Curve[],
  rounds: number,
): Promise<void> {
  mkdirSync(`${docs}benchmarks`, { recursive: true })
  const parts: string[] = [await machineLine(place, rounds)]
  for (const [axis, group] of Map.groupBy(curves, curve => curve.axis)) {
    const file = `benchmarks/${axis.replaceAll(' ', '-')}.svg`
    writeFileSync(`${docs}${file}`, lineChart(group))
    parts.push(`![Microseconds for each message by ${axis}](${file})\n`, tableOf(axis, group))
  }
  replacePart('curves', parts.join('\n'))
}

function tableOf(axis: string, curves: readonly Curve[]): string {
  const places = curves[0]!.points.map(({ at }) => at.toLocaleString('en-US'))
  const rows = curves.flatMap(({ name, points }) => [
    row(
      name,
      points.map(({ micros }) => `${micros.toFixed(1)} us`),
    ),
    row(
      'its own processor time',
      points.map(({ cpuMicros }) => `${cpuMicros.toFixed(1)} us`),
    ),
  ])
  return [
    row(axis, places),
    row(
      '---',
      places.map(() => '---'),
    ),
    ...rows,
    '',
  ].join('\n')
}

const row = (first: string, rest: readonly string[]) => `| ${[first, ...rest].join(' | ')} |`

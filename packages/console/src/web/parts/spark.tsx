import { count } from './numbers.ts'

const width = 120
const height = 28

/** A line of the last hour, one value a minute. Minutes without a sample are gaps. */
export function Spark({
  of,
  label,
}: {
  readonly of: readonly (number | null)[] | undefined
  readonly label: string
}) {
  const known = (of ?? []).filter(value => value !== null)
  if (of === undefined || known.length === 0)
    return <span class="spark none small muted">no samples yet</span>
  const most = Math.max(...known, 1)
  const latest = known.at(-1)!
  return (
    <svg
      class="spark"
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`${label}, last hour: most ${count(most)} a minute, latest ${count(latest)}`}
    >
      <path class="area" d={areaOf(of, most)} />
      <path class="line" d={lineOf(of, most)} />
    </svg>
  )
}

function points(of: readonly (number | null)[], most: number): readonly (readonly [number, number] | null)[] {
  const step = width / Math.max(1, of.length - 1)
  return of.map((value, index) =>
    value === null ? null : [round(index * step), round(height - 2 - (value / most) * (height - 4))],
  )
}

const round = (value: number) => Math.round(value * 10) / 10

/** Runs of points without a gap. */
function runsOf(of: readonly (number | null)[], most: number): (readonly [number, number])[][] {
  const runs: (readonly [number, number])[][] = [[]]
  for (const point of points(of, most)) {
    if (point === null) runs.push([])
    else runs.at(-1)!.push(point)
  }
  return runs.filter(run => run.length > 0)
}

function lineOf(of: readonly (number | null)[], most: number): string {
  return runsOf(of, most)
    .map(run => (run.length === 1 ? dot(run[0]!) : `M${run.map(([x, y]) => `${x} ${y}`).join('L')}`))
    .join('')
}

const dot = ([x, y]: readonly [number, number]) => `M${round(x - 1)} ${y}L${x} ${y}`

function areaOf(of: readonly (number | null)[], most: number): string {
  return runsOf(of, most)
    .filter(run => run.length > 1)
    .map(
      run =>
        `M${run[0]![0]} ${height}L${run.map(([x, y]) => `${x} ${y}`).join('L')}L${run.at(-1)![0]} ${height}Z`,
    )
    .join('')
}

import { count } from './numbers.ts'

const width = 960
const height = 180
const edge = { left: 44, right: 8, top: 10, bottom: 22 }
const inner = { width: width - edge.left - edge.right, height: height - edge.top - edge.bottom }

export interface Series {
  readonly name: string
  readonly values: readonly (number | null)[]
  /** A class of the style sheet. */
  readonly tone: 'accent' | 'warn' | 'crit' | 'info'
}

/** Lines of the last hour with an axis and a legend. The table behind it is for those who cannot see it. */
export function Chart({
  series,
  from,
  label,
}: {
  readonly series: readonly Series[]
  readonly from: string
  readonly label: string
}) {
  const shown = series.filter(({ values }) => values.some(value => value !== null))
  if (shown.length === 0) return <p class="empty">There are no samples of the last hour yet.</p>
  const most = niceMost(Math.max(1, ...shown.flatMap(({ values }) => values.map(value => value ?? 0))))
  const length = shown[0]!.values.length
  const x = (index: number) => edge.left + (index / Math.max(1, length - 1)) * inner.width
  const y = (value: number) => edge.top + inner.height - (value / most) * inner.height
  const hours = [0, 15, 30, 45].filter(minute => minute < length)
  return (
    <figure class="chart">
      <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-label={summary(label, shown)}>
        {[0, 0.5, 1].map(part => (
          <g class="grid">
            <line x1={edge.left} x2={width - edge.right} y1={y(part * most)} y2={y(part * most)} />
            <text x={edge.left - 6} y={y(part * most) + 4} text-anchor="end">
              {count(part * most)}
            </text>
          </g>
        ))}
        {hours.map(minute => (
          <text class="tick" x={x(minute)} y={height - 6} text-anchor={minute === 0 ? 'start' : 'middle'}>
            {clock(from, minute)}
          </text>
        ))}
        {shown.map(({ values, tone }) => (
          <path class={`line ${tone}`} d={path(values, x, y)} />
        ))}
      </svg>
      <figcaption class="row small">
        {shown.map(({ name, tone }) => (
          <span class={`legend ${tone}`}>{name}</span>
        ))}
        <span class="muted">messages a minute, UTC</span>
      </figcaption>
    </figure>
  )
}

function path(
  values: readonly (number | null)[],
  x: (index: number) => number,
  y: (value: number) => number,
): string {
  let isOpen = false
  const steps = values.map((value, index) => {
    if (value === null) {
      isOpen = false
      return ''
    }
    // A single point is a line without length, which a round cap makes visible.
    const point = `${x(index).toFixed(1)} ${y(value).toFixed(1)}`
    const step = isOpen ? `L${point}` : `M${point}h0.01`
    isOpen = true
    return step
  })
  return steps.join('')
}

function clock(from: string, minute: number): string {
  return new Date(Date.parse(from) + minute * 60_000).toISOString().slice(11, 16)
}

/** 1, 2 or 5 times a power of ten, so that the axis has round numbers. */
function niceMost(most: number): number {
  const power = 10 ** Math.floor(Math.log10(most))
  return [1, 2, 5, 10].map(step => step * power).find(step => step >= most)!
}

function summary(label: string, series: readonly Series[]): string {
  const parts = series.map(({ name, values }) => {
    const known = values.filter(value => value !== null)
    return `${name}: most ${count(Math.max(...known))}, latest ${count(known.at(-1)!)}`
  })
  return `${label}. ${parts.join('; ')}`
}

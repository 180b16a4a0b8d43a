import type { Curve } from './curves.ts'

const width = 860
const height = 300
const plot = { left: 70, right: 20, top: 44, bottom: 60 }
const colours = ['#2563eb', '#dc2626']

/** Lines over a logarithmic axis of what grows; every curve has the same axis. */
export function lineChart(curves: readonly Curve[]): string {
  const points = curves.flatMap(curve => curve.points)
  const x = scale(
    points.map(({ at }) => Math.log10(at)),
    [plot.left + 20, width - plot.right - 40],
  )
  const most = Math.max(...points.map(({ micros }) => micros))
  const y = (micros: number) =>
    height - plot.bottom - (micros / most) * (height - plot.top - plot.bottom - 20)
  const base = height - plot.bottom
  const ticks = [...new Set(points.map(({ at }) => at))].map(at =>
    text(x(Math.log10(at)), base + 20, at.toLocaleString('en-US'), 'middle'),
  )
  const lines = curves.map(({ points }, index) => {
    const places = points.map(({ at, micros }) => [x(Math.log10(at)), y(micros), micros] as const)
    const colour = colours[index % colours.length]
    return [
      `<polyline fill="none" stroke="${colour}" stroke-width="2" points="${places.map(([px, py]) => `${px},${py}`).join(' ')}"/>`,
      ...places.map(([px, py]) => `<circle cx="${px}" cy="${py}" r="4" fill="${colour}"/>`),
      ...places.map(([px, py, micros]) => text(px, py - 10, micros.toFixed(1), 'middle')),
    ].join('\n')
  })
  const names = curves.map(({ name }, index) =>
    text(plot.left + index * 300, 24, name, 'start', colours[index % colours.length]),
  )
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="13">
<rect width="${width}" height="${height}" fill="#ffffff"/>
<line x1="${plot.left}" y1="${base}" x2="${width - plot.right}" y2="${base}" stroke="#64748b"/>
${[...names, ...ticks, ...lines, text(width / 2, height - 14, `${curves[0]!.axis}; microseconds for each message`, 'middle')].join('\n')}
</svg>
`
}

function scale(values: readonly number[], [from, to]: readonly [number, number]): (value: number) => number {
  const [least, most] = [Math.min(...values), Math.max(...values)]
  return value => Math.round(from + ((value - least) / (most - least || 1)) * (to - from))
}

function text(x: number, y: number, content: string, anchor: string, colour = '#0f172a'): string {
  return `<text x="${x}" y="${Math.round(y)}" text-anchor="${anchor}" fill="${colour}">${content}</text>`
}

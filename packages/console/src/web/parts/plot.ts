import UPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { count } from './numbers.ts'

const height = 190

/** Draws into a figure whose legend gives the colours. It is loaded with the first chart only. */
export function drawPlot(
  figure: HTMLElement,
  data: UPlot.AlignedData,
  onMinute: (index: number | null) => void,
): { readonly draw: UPlot; readonly close: () => void } {
  const place = figure.querySelector<HTMLElement>('.plot')!
  const colour = (element: Element | null) => getComputedStyle(element ?? figure).color
  const legends = [...figure.querySelectorAll('.legend')]
  const muted = colour(figure.querySelector('.muted'))
  const axis = { stroke: muted, font: `11px ${getComputedStyle(figure).fontFamily}`, ticks: { show: false } }
  const grid = { stroke: getComputedStyle(place).borderTopColor, width: 1 }
  const draw = new UPlot(
    {
      width: place.clientWidth,
      height,
      legend: { show: false },
      cursor: { y: false, drag: { setScale: false, x: false, y: false }, points: { size: 6 } },
      scales: { x: { time: true }, y: { range: (_, __, most) => [0, Math.max(1, most * 1.08)] } },
      axes: [
        { ...axis, grid: { show: false }, values: (_, times) => times.map(clock), space: 70, size: 26 },
        { ...axis, grid, values: (_, values) => values.map(axisValue), size: 52, space: 40 },
      ],
      series: [{}, ...legends.map(one => ({ stroke: colour(one), width: 1.75, points: alone }))],
      hooks: { setCursor: [({ cursor }) => onMinute(cursor.idx ?? null)] },
    },
    data,
    place,
  )
  const resized = new ResizeObserver(() => draw.setSize({ width: place.clientWidth, height }))
  resized.observe(place)
  return {
    draw,
    close: () => {
      resized.disconnect()
      draw.destroy()
    },
  }
}

/** Points only for minutes between two without a sample, which no line shows. */
const alone: UPlot.Series.Points = {
  size: 4,
  show: true,
  filter: ({ data }, series) => {
    const values = [...data[series]!]
    return values.flatMap((value, at) =>
      value != null && values[at - 1] == null && values[at + 1] == null ? [at] : [],
    )
  },
}

const clock = (seconds: number) => new Date(seconds * 1_000).toISOString().slice(11, 16)

const axisValue = (value: number) =>
  value >= 10_000 ? `${count(Math.round(value / 100) / 10)} k` : Number.isInteger(value) ? count(value) : ''

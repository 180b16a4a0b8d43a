import {
  type Attributes,
  type BatchObservableResult,
  type Meter,
  type ObservableGauge,
  metrics as openTelemetry,
} from '@opentelemetry/api'
import type { PartitionLag } from '../ports/source.ts'
import { boundedLabels } from './bounded-labels.ts'
import {
  catalogue,
  type Label,
  type MetricKey,
  type MetricSpec,
  partitionsMax,
  secondsBounds,
} from './catalogue.ts'
import { recordEach } from './page-histogram.ts'

type Spec<K extends MetricKey> = (typeof catalogue)[K]
type KeyOf<Kind> = { [K in MetricKey]: Spec<K>['kind'] extends Kind ? K : never }[MetricKey]

export type CounterKey = KeyOf<'counter'>
export type HistogramKey = KeyOf<'histogram'>
export type GaugeKey = KeyOf<'gauge'>

/** Set by this file, or known only to some callers. Gauges report campaigns in any mode. */
type Given<K extends MetricKey> =
  | 'type'
  | 'messaging.operation.name'
  | (Spec<K>['kind'] extends 'gauge' ? never : 'mode')

export type Labels<K extends MetricKey> = Readonly<
  Record<Exclude<Spec<K>['labels'][number], Given<K>>, string>
> & { readonly type?: string }

/** Reports one value of a gauge. */
export type See = <K extends GaugeKey>(gauge: K, value: number, labels: Labels<K>) => void

/** The instruments of `catalogue.ts`, one set for all consumers of a process. */
export interface Metrics {
  /** The same instruments; their counts get this mode instead of `live`. */
  inMode(mode: string): Metrics
  add<K extends CounterKey>(metric: K, count: number, labels: Labels<K>): void
  record<K extends HistogramKey>(metric: K, seconds: number, labels: Labels<K>): void
  /** Records all values under the same labels. */
  recordEach<K extends HistogramKey>(metric: K, seconds: readonly number[], labels: Labels<K>): void
  /** Calls `read` at every collection until the returned function is called. `read` must not wait. */
  watch(gauges: readonly GaugeKey[], read: (see: See) => void): () => void
  /** The same for the partitions that a source reports. */
  watchLag(consumer: string, read: () => readonly PartitionLag[]): () => void
}

/** For processes without metrics. */
export const unmeasured: Metrics = {
  inMode: () => unmeasured,
  add() {},
  record() {},
  recordEach() {},
  watch: () => () => {},
  watchLag: () => () => {},
}

export function createMetrics(meter: Meter = openTelemetry.getMeter('onceward')): Metrics {
  const instruments = new Map<MetricKey, Instrument>()
  for (const key of Object.keys(catalogue) as MetricKey[])
    instruments.set(key, createInstrument(meter, catalogue[key]))
  return inMode('live', instruments, meter)
}

interface Instrument {
  readonly spec: MetricSpec
  readonly counts: (value: number, attributes: Attributes) => void
  readonly countsEach: (values: readonly number[], attributes: Attributes) => void
  readonly gauge: ObservableGauge | null
  /** Limits label values from outside, so that time series stay bounded. */
  readonly bound: (labels: Attributes) => Attributes
}

function createInstrument(meter: Meter, spec: MetricSpec): Instrument {
  const { name, kind, unit, description } = spec
  const bound = boundedLabels(spec.labels)
  const plain = { spec, bound, gauge: null, counts: () => {}, countsEach: () => {} }
  switch (kind) {
    case 'counter': {
      const counter = meter.createCounter(name, { unit, description })
      return { ...plain, counts: (count, attributes) => counter.add(count, attributes) }
    }
    case 'histogram': {
      const advice = { explicitBucketBoundaries: [...secondsBounds] }
      const histogram = meter.createHistogram(name, { unit, description, advice })
      return {
        ...plain,
        counts: (seconds, attributes) => histogram.record(seconds, attributes),
        countsEach: (seconds, attributes) => recordEach(histogram, seconds, attributes),
      }
    }
    case 'gauge':
      return { ...plain, gauge: meter.createObservableGauge(name, { unit, description }) }
  }
}

/**
 * The series that were reported at the last collection. An SDK repeats the last value of a series for ever,
 * so a series that ended is reported as NaN.
 */
interface Shown {
  readonly gauge: ObservableGauge
  readonly attributes: Attributes
}

function inMode(mode: string, instruments: ReadonlyMap<MetricKey, Instrument>, meter: Meter): Metrics {
  const attributesOf = ({ spec, bound }: Instrument, labels: Readonly<Partial<Record<Label, string>>>) =>
    bound({ ...spec.fixed, ...(spec.labels.includes('mode') && { mode }), ...labels })
  const count = (metric: MetricKey, value: number, labels: Readonly<Partial<Record<Label, string>>>) => {
    const instrument = instruments.get(metric)!
    instrument.counts(value, attributesOf(instrument, labels))
  }
  const watch = (gauges: readonly GaugeKey[], read: (see: See) => void) => {
    const watched = gauges.map(key => instruments.get(key)!.gauge!)
    let before = new Map<string, Shown>()
    const observe = (result: BatchObservableResult) => {
      const now = new Map<string, Shown>()
      read((key, value, labels) => {
        const instrument = instruments.get(key)!
        const attributes = attributesOf(instrument, labels)
        result.observe(instrument.gauge!, value, attributes)
        now.set(`${key} ${JSON.stringify(attributes)}`, { gauge: instrument.gauge!, attributes })
      })
      for (const [series, { gauge, attributes }] of before)
        if (!now.has(series)) result.observe(gauge, Number.NaN, attributes)
      before = now
    }
    meter.addBatchObservableCallback(observe, watched)
    return () => meter.removeBatchObservableCallback(observe, watched)
  }
  return {
    inMode: other => inMode(other, instruments, meter),
    add: count,
    record: count,
    recordEach: (metric, seconds, labels) => {
      const instrument = instruments.get(metric)!
      instrument.countsEach(seconds, attributesOf(instrument, labels))
    },
    watch,
    watchLag: (consumer, read) =>
      watch(['lag', 'effectLag'], see => {
        for (const { partition, behind, oldestMs } of read().slice(0, partitionsMax)) {
          if (behind !== null) see('lag', behind, { consumer, partition })
          if (oldestMs !== undefined)
            see('effectLag', oldestMs === null ? 0 : Math.max(0, Date.now() - oldestMs) / 1000, {
              consumer,
              partition,
            })
        }
      }),
  }
}

import { failures, messages } from './catalogue/messages.ts'
import { durations, source } from './catalogue/source.ts'
import { effects, held, memory } from './catalogue/work.ts'
import type { Label, MetricSpec } from './metric-spec.ts'

export type { Label, MetricSpec } from './metric-spec.ts'

/**
 * Every metric there is. Instruments are made from it, and alerts, dashboards and `docs/metrics.md` are
 * checked against it.
 */
export const catalogue = { ...messages, ...failures, ...durations, ...source, ...held, ...effects, ...memory }

export type MetricKey = keyof typeof catalogue

/** The name under which the Prometheus exporter shows it; a histogram adds `_bucket`, `_sum` and `_count`. */
export function prometheusName({ name, kind }: Pick<MetricSpec, 'name' | 'kind'>): string {
  const plain = name.replaceAll(/[^a-zA-Z0-9_]/g, '_')
  return kind === 'counter' ? `${plain}_total` : plain
}

export function prometheusLabel(label: Label): string {
  return label.replaceAll(/[^a-zA-Z0-9_]/g, '_')
}

/** Bounds of histograms, in seconds. */
export const secondsBounds: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
]

/** Partitions of one consumer that get a label of their own; a topic with more is shown as far. */
export const partitionsMax = 256

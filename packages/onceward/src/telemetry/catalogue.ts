import { failures, messages } from './catalogue/messages.ts'
import { durations, source } from './catalogue/source.ts'
import { effects, held, memory } from './catalogue/work.ts'
import type { Label, MetricSpec } from './metric-spec.ts'

export type { Label, MetricSpec } from './metric-spec.ts'

/**
 * Every metric. The instruments are created from it, and tests compare alerts, dashboards and
 * `docs/metrics.md` with it.
 */
export const catalogue = { ...messages, ...failures, ...durations, ...source, ...held, ...effects, ...memory }

export type MetricKey = keyof typeof catalogue

const unitSuffix: Readonly<Partial<Record<string, string>>> = { s: '_seconds', '1': '_ratio' }

/**
 * The name with its unit, as OpenTelemetry translates names for Prometheus: `s` becomes `_seconds`, `1`
 * becomes `_ratio`. Units in braces add nothing, because the name ends with that noun.
 */
export function nameWithUnit(name: string, unit: string): string {
  return `${name.replaceAll(/[^a-zA-Z0-9_]/g, '_')}${unitSuffix[unit] ?? ''}`
}

/** The name on the metrics page; a histogram adds `_bucket`, `_sum` and `_count`. */
export function prometheusName({ name, kind, unit }: Pick<MetricSpec, 'name' | 'kind' | 'unit'>): string {
  const plain = nameWithUnit(name, unit)
  return kind === 'counter' ? `${plain}_total` : plain
}

export function prometheusLabel(label: Label): string {
  return label.replaceAll(/[^a-zA-Z0-9_]/g, '_')
}

/** Bucket bounds of histograms, in seconds. */
export const secondsBounds: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
]

/** Partitions of one consumer that get a time series each; further partitions are not shown. */
export const partitionsMax = 256

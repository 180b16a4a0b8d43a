import { catalogue, type Label, type MetricKey, prometheusLabel, prometheusName } from '../catalogue.ts'

/** The series that an expression selects. */
export interface Scope {
  /** A consumer name; null for the consumer variable of a dashboard. */
  readonly consumer: string | null
  /** More labels that every series must have, for a server that watches several environments. */
  readonly where: readonly (readonly [label: string, value: string])[]
}

/** One value, one of several, or none of several. */
export type Matcher = string | readonly string[] | { readonly not: readonly string[] }
export type Matchers = Partial<Record<Label, Matcher>>
export type HistogramPart = '_bucket' | '_sum' | '_count'

/** A selector of a metric of the catalogue. An unknown name does not compile, and an unknown label throws. */
export function series(
  { consumer, where }: Scope,
  key: MetricKey,
  matchers: Matchers = {},
  part: HistogramPart | '' = '',
): string {
  const spec = catalogue[key]
  const known = spec.labels as readonly Label[]
  for (const label of Object.keys(matchers)) {
    if (!known.includes(label as Label)) throw new Error(`${spec.name} has no label ${label}`)
  }
  const own = consumer === null ? 'consumer=~"$consumer"' : `consumer=${quoted(consumer)}`
  const parts = [
    ...(known.includes('consumer') ? [own] : []),
    ...where.map(([label, value]) => `${label}=${quoted(value)}`),
    ...Object.entries(matchers).map(([label, matcher]) => match(label as Label, matcher)),
  ]
  return `${prometheusName(spec)}${part}{${parts.join(',')}}`
}

/**
 * The growth of counters in a window, summed by labels. A counter that is younger than the window counts in
 * full: Prometheus takes its first sample for its start, and `increase` would miss the first conflict of a
 * process. A counter that existed before and missed a scrape is not young.
 */
export function grown(selector: string, window: string, by: readonly string[] = ['consumer']): string {
  const young = `${selector} unless last_over_time(${selector}[${window}] offset ${window})`
  return `sum by (${by.join(', ')}) ((${young}) or increase(${selector}[${window}]))`
}

/** The same for people to read, without the first sample of a young counter. */
export function increased(selector: string, window: string, by: readonly string[] = []): string {
  return `sum${by.length === 0 ? '' : ` by (${by.join(', ')}) `}(increase(${selector}[${window}]))`
}

/** Every process reports the same store or broker, so the maximum counts, not the sum. */
export function onceOf(selector: string, by: readonly string[]): string {
  return `max by (${by.join(', ')}) (${selector})`
}

/**
 * The last known value of a gauge in ten minutes. A gauge is NaN while its database does not answer, and NaN
 * passes no comparison. Without it an alert would end while messages still wait.
 */
export function lastKnown(selector: string): string {
  return `last_over_time((${selector} >= 0)[10m:30s])`
}

/** A duration in PromQL: whole seconds, at least one. */
export function window(ms: number): string {
  return `${Math.max(1, Math.ceil(ms / 1_000))}s`
}

/** A number in PromQL: no exponent, no separators. */
export function number(value: number): string {
  return Number(value.toFixed(6)).toLocaleString('en', { useGrouping: false, maximumFractionDigits: 6 })
}

export function quoted(value: string): string {
  const escaped = value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
  return `"${escaped}"`
}

function match(label: Label, matcher: Matcher): string {
  const name = prometheusLabel(label)
  if (typeof matcher === 'string') return `${name}=${quoted(matcher)}`
  if ('not' in matcher) return `${name}!~${quoted(matcher.not.map(literal).join('|'))}`
  return `${name}=~${quoted(matcher.map(literal).join('|'))}`
}

function literal(value: string): string {
  return value.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}

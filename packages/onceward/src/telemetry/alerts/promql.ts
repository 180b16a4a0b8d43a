import { catalogue, type Label, type MetricKey, prometheusLabel, prometheusName } from '../catalogue.ts'

/** Which series an expression is about. */
export interface Scope {
  /** A name; null: what the variable of a dashboard says. */
  readonly consumer: string | null
  /** More labels every series must have, as a server that watches several environments needs. */
  readonly where: readonly (readonly [label: string, value: string])[]
}

/** A value, one of several, or anything but these. */
export type Matcher = string | readonly string[] | { readonly not: readonly string[] }
export type Matchers = Partial<Record<Label, Matcher>>
export type HistogramPart = '_bucket' | '_sum' | '_count'

/**
 * A selector of a metric of the catalogue; a name or a label that is not in it does not compile or throws.
 */
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
 * How much counters grew in a window, added up by labels. A counter that is younger than the window counts
 * whole: Prometheus takes its first sample for its beginning, and the first conflict of a process would go
 * unseen. One that was there before, but missing for a scrape, is not young.
 */
export function grown(selector: string, window: string, by: readonly string[] = ['consumer']): string {
  const young = `${selector} unless last_over_time(${selector}[${window}] offset ${window})`
  return `sum by (${by.join(', ')}) ((${young}) or increase(${selector}[${window}]))`
}

/** The same for people to read, without the first sample of what is young. */
export function increased(selector: string, window: string, by: readonly string[] = []): string {
  return `sum${by.length === 0 ? '' : ` by (${by.join(', ')}) `}(increase(${selector}[${window}]))`
}

/** Every process reports what it reads of the same store or broker: the largest counts, not the sum. */
export function onceOf(selector: string, by: readonly string[]): string {
  return `max by (${by.join(', ')}) (${selector})`
}

/**
 * The last known value of a gauge in ten minutes. A gauge whose database does not answer is exported as NaN,
 * which no comparison passes: without it an alert would end while what it is about still waits.
 */
export function lastKnown(selector: string): string {
  return `last_over_time((${selector} >= 0)[10m:30s])`
}

/** A duration as Prometheus writes windows. Whole seconds, at least one. */
export function window(ms: number): string {
  return `${Math.max(1, Math.ceil(ms / 1_000))}s`
}

/** A number of PromQL: no exponent, no separators. */
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

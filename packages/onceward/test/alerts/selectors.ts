import {
  catalogue,
  type Label,
  type MetricSpec,
  prometheusLabel,
  prometheusName,
} from '../../src/telemetry/catalogue.ts'

/** A metric as an expression asks for it: its name and the labels it must have. */
export interface Selector {
  readonly name: string
  readonly labels: readonly string[]
}

const string = /"(?:[^"\\]|\\.)*"/g

/**
 * Every selector of an expression. Ours always have braces, so a name without them is a function or a
 * keyword.
 */
export function selectorsOf(expression: string): readonly Selector[] {
  const bare = expression.replaceAll(string, '""')
  return [...bare.matchAll(/([a-zA-Z_:][a-zA-Z0-9_:]*)\{([^}]*)\}/g)].map(([, name, inside]) => ({
    name: name!,
    labels: [...inside!.matchAll(/([a-zA-Z_][a-zA-Z0-9_]*)\s*(?:=~|!~|!=|=)/g)].map(([, label]) => label!),
  }))
}

/** Labels an expression keeps or leaves, by its own words. */
export function groupingsOf(expression: string): readonly string[] {
  const bare = expression.replaceAll(string, '""')
  return [...bare.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list]) =>
    list!.split(',').map(one => one.trim()),
  )
}

/** Names Prometheus sees, with the labels each has. */
export const exportedNames: ReadonlyMap<string, readonly string[]> = new Map(
  (Object.values(catalogue) as readonly MetricSpec[]).flatMap(spec => {
    const name = prometheusName(spec)
    const labels = spec.labels.map((label: Label) => prometheusLabel(label))
    if (spec.kind !== 'histogram') return [[name, labels]]
    return [
      [`${name}_bucket`, [...labels, 'le']],
      [`${name}_sum`, labels],
      [`${name}_count`, labels],
    ] as [string, string[]][]
  }),
)

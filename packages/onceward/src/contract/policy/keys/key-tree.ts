import type { PolicyKey } from './policy-key.ts'

/** The keys as a tree. A branch may also have a value: `breaker: false`. */
export interface KeyBranch {
  readonly children: ReadonlyMap<string, KeyBranch>
  /** Below a user-chosen name. */
  readonly anyName: KeyBranch | null
  readonly value: PolicyKey | null
  /** The key below it that a plain text sets. */
  readonly shorthand: PolicyKey | null
}

export function keyTree(keys: readonly PolicyKey[]): KeyBranch {
  return branch(keys.map(key => ({ key, rest: key.key.split('.') })))
}

type Rest = { readonly key: PolicyKey; readonly rest: readonly string[] }

function branch(entries: readonly Rest[]): KeyBranch {
  const below = Map.groupBy(
    entries.filter(({ rest }) => rest.length > 0),
    ({ rest }) => rest[0]!,
  )
  const nested = [...below].map(
    ([name, group]) => [name, branch(group.map(({ key, rest }) => ({ key, rest: rest.slice(1) })))] as const,
  )
  const values = nested.map(([, { value }]) => value)
  return {
    children: new Map(nested.filter(([name]) => name !== '*')),
    anyName: nested.find(([name]) => name === '*')?.[1] ?? null,
    value: entries.find(({ rest }) => rest.length === 0)?.key ?? null,
    shorthand: values.find(value => value?.isShorthand) ?? null,
  }
}

import { consumerKeys } from './consumer-keys.ts'
import { effectKeys, sourceKeys } from './effect-keys.ts'
import { failureKeys } from './failure-keys.ts'
import { keepingKeys } from './keeping-keys.ts'
import type { PolicyKey } from './policy-key.ts'

/** Every key a consumer, a source and the defaults may have in a policy file. */
export const policyKeys: readonly PolicyKey[] = [
  ...consumerKeys,
  ...failureKeys,
  ...effectKeys,
  ...sourceKeys,
  ...keepingKeys,
]

/** The keys as they are nested. A branch may have a value of its own: `breaker: false`. */
export interface KeyBranch {
  readonly children: ReadonlyMap<string, KeyBranch>
  /** Below a name people choose. */
  readonly anyName: KeyBranch | null
  readonly value: PolicyKey | null
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
  return {
    children: new Map(nested.filter(([name]) => name !== '*')),
    anyName: nested.find(([name]) => name === '*')?.[1] ?? null,
    value: entries.find(({ rest }) => rest.length === 0)?.key ?? null,
  }
}

import type { ValueKind } from '../../options/value-kind.ts'

/**
 * One key of the policy file, derived from an option of the contract. Its validation, the JSON Schema and the
 * reference derive from it. `key` is its path below a consumer, with `*` for a user-chosen name. `at` is its
 * path in the contract, where names include units; null if the contract does not have it.
 */
export type PolicyKey = {
  readonly key: string
  readonly at: string | null
  readonly description: string
  /** True: a plain text in place of its section sets this key. */
  readonly isShorthand?: true
} & ValueKind

import type { ValueKind } from '../../options/value-kind.ts'

/**
 * One key of the policy file, made from an option of the contract: the source of its validation, of the JSON
 * Schema and of the reference in the docs. `key` is where it stands below a consumer, with `*` for a name
 * people choose; `at` is the same place in the contract, where units are part of the names, or null for what
 * no contract needs to be told.
 */
export type PolicyKey = {
  readonly key: string
  readonly at: string | null
  readonly description: string
  /** True: a plain text in place of its section means this key. */
  readonly isShorthand?: true
} & ValueKind

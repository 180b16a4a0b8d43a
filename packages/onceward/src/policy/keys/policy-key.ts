/**
 * One key of the policy file: the source of its validation, of the JSON Schema and of the reference in the docs. `key` is where it stands
 * below a consumer, with `*` for a name people choose; `at` is the same place in the contract, where units are part of the names, or
 * null for what no contract needs to be told.
 */
export type PolicyKey = {
  readonly key: string
  readonly at: string | null
  readonly description: string
} & ValueKind

export type ValueKind =
  | { readonly kind: 'text' }
  | { readonly kind: 'texts' }
  | { readonly kind: 'word'; readonly words: readonly string[] }
  | { readonly kind: 'words'; readonly words: readonly string[] }
  | { readonly kind: 'flag' }
  /** Nothing but `false`: switches off what the keys below it describe. */
  | { readonly kind: 'off' }
  | { readonly kind: 'count'; readonly min: number; readonly max: number }
  | { readonly kind: 'share' }
  | { readonly kind: 'duration'; readonly min: number; readonly max: number }
  /** Bytes; the contract counts in units of `unitBytes`. */
  | { readonly kind: 'size'; readonly min: number; readonly max: number; readonly unitBytes: number }
  | { readonly kind: 'ports' }
  /** A header or a property of the delivery. */
  | { readonly kind: 'from' }
  | { readonly kind: 'from or position' }
  /** A list, or a range of whole numbers. */
  | { readonly kind: 'versions' }
  /** A reference to the environment and nothing else; `address`: the value is needed as a text when something is opened. */
  | { readonly kind: 'secret' }
  | { readonly kind: 'address' }
  /** A text, or a reference to the environment with a text before it. */
  | { readonly kind: 'header' }
  /** Named, or none: `null`. */
  | { readonly kind: 'text or none' }

/** Where a contract counts in milliseconds its names say so; a policy file writes the unit beside the number instead. */
export function inMs(key: string): { readonly key: string; readonly at: string } {
  return { key, at: `${key}Ms` }
}

export function same(key: string): { readonly key: string; readonly at: string } {
  return { key, at: key }
}

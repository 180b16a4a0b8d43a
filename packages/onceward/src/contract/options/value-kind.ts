/**
 * What a policy file may write for an option. `policy/` reads and describes it and writes the JSON Schema.
 */
export type ValueKind =
  | { readonly kind: 'text' }
  | { readonly kind: 'texts' }
  | { readonly kind: 'word'; readonly words: readonly string[] }
  | { readonly kind: 'words'; readonly words: readonly string[] }
  | { readonly kind: 'flag' }
  /** Only `false`: switches off the section below it. */
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
  /** Only a reference to the environment. `address`: resolved to a text when a connection opens. */
  | { readonly kind: 'secret' }
  | { readonly kind: 'address' }
  /** A text, or a reference to the environment after a text. */
  | { readonly kind: 'header' }
  /** A text, or `null` for none. */
  | { readonly kind: 'text or none' }

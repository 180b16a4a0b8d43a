/** What a policy file may write for an option. Read, described and put into the JSON Schema by `policy/`. */
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
  /**
   * A reference to the environment and nothing else; `address`: the value is needed as a text when something
   * is opened.
   */
  | { readonly kind: 'secret' }
  | { readonly kind: 'address' }
  /** A text, or a reference to the environment with a text before it. */
  | { readonly kind: 'header' }
  /** Named, or none: `null`. */
  | { readonly kind: 'text or none' }

const hex = /\b[0-9a-f]{64}\b/g
const fixed = /\b[0-9a-f]{12} became [0-9a-f]{12}\b/g

/**
 * The same value without digests of content, in members and in texts: a digest confirms a payload that was
 * guessed.
 */
export function withoutDigests<T>(value: T): T {
  if (typeof value === 'string') return value.replaceAll(hex, '•••').replaceAll(fixed, '•••') as T
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  if (Array.isArray(value)) return value.map(withoutDigests) as T
  const shown = ([name, member]: readonly [string, unknown]) =>
    [name, /digest$/i.test(name) && member !== null ? '•••' : withoutDigests(member)] as const
  return Object.fromEntries(Object.entries(value).map(shown)) as T
}

/** A row with its consumer, as a person with these rights may see it. */
export function shownDigests<Row extends { readonly consumer: string | null }>(
  row: Row,
  reach: { payloadFor(consumer: string): string },
): Row {
  return row.consumer === null || reach.payloadFor(row.consumer) === 'full' ? row : withoutDigests(row)
}

/** Hidden values keep their type in sight: text, number, boolean or null. */
const hidden = (value: unknown) => (typeof value === 'string' ? '•••' : `••• (${typeof value})`)

/**
 * A JSON text with hidden values. `paths`: members such as `customer.iban` or `lines.*.price`; without paths,
 * every value is hidden. Null when the text is not JSON: nothing of it is shown.
 */
export function maskPayload(text: string, paths: readonly string[] | undefined): string | null {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return null
  }
  const masked =
    paths === undefined
      ? hideAll(value)
      : paths.reduce((rest, path) => hideAt(rest, path.replace(/^\$\./, '').split('.')), value)
  return JSON.stringify(masked, null, 2)
}

function hideAll(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(hideAll)
  if (typeof value !== 'object' || value === null) return hidden(value)
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, hideAll(member)]))
}

function hideAt(value: unknown, [first, ...rest]: readonly string[]): unknown {
  if (first === undefined) return hideAll(value)
  if (typeof value !== 'object' || value === null) return value
  const step = ([name, member]: readonly [string, unknown]) =>
    [name, first === '*' || first === name ? hideAt(member, rest) : member] as const
  const entries = Object.entries(value).map(step)
  return Array.isArray(value) ? entries.map(([, member]) => member) : Object.fromEntries(entries)
}

/** Since Node 22; the types do not know it yet. A raw number is written as it was read. */
const exact = JSON as unknown as {
  parse(text: string, revive: (name: string, value: unknown, at: { source?: string }) => unknown): unknown
  rawJSON(text: string): object
  isRawJSON(value: unknown): boolean
}
const isValue = (value: unknown) => typeof value !== 'object' || value === null || exact.isRawJSON(value)

/** Hidden values keep their type in sight: text, number, boolean or null. */
const hidden = (value: unknown) =>
  typeof value === 'string' ? '•••' : `••• (${exact.isRawJSON(value) ? 'number' : typeof value})`

/**
 * A JSON text with hidden values. `paths`: members such as `customer.iban` or `lines.price`, also below
 * arrays. Without paths, or if the payload lacks one of them, every value is hidden: it may have moved
 * elsewhere. Null when the text is not JSON: nothing of it is shown.
 */
export function maskPayload(text: string, paths: readonly string[] | undefined): string | null {
  let value: unknown
  try {
    value = exact.parse(text, (_, one, { source }) =>
      typeof one === 'number' && source !== undefined ? exact.rawJSON(source) : one,
    )
  } catch {
    return null
  }
  const steps = paths?.map(path => path.replace(/^\$\./, '').split('.'))
  const masked = steps?.every(path => has(value, path)) ? steps.reduce(hideAt, value) : hideAll(value)
  return JSON.stringify(masked, null, 2)
}

function hideAll(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(hideAll)
  if (isValue(value)) return hidden(value)
  return Object.fromEntries(Object.entries(value as object).map(([name, member]) => [name, hideAll(member)]))
}

/** Whether the path leads to a value, in every element of the arrays on its way. */
function has(value: unknown, path: readonly string[]): boolean {
  const [first, ...rest] = path
  if (first === undefined) return true
  if (typeof value !== 'object' || value === null || isValue(value)) return false
  if (isPassed(value, first)) return value.every(one => has(one, path))
  if (first === '*') return Object.values(value).every(member => has(member, rest))
  return Object.hasOwn(value, first) && has((value as Record<string, unknown>)[first], rest)
}

function hideAt(value: unknown, path: readonly string[]): unknown {
  const [first, ...rest] = path
  if (first === undefined) return hideAll(value)
  if (typeof value !== 'object' || value === null || isValue(value)) return value
  if (isPassed(value, first)) return value.map(one => hideAt(one, path))
  const step = ([name, member]: readonly [string, unknown]) =>
    [name, first === '*' || first === name ? hideAt(member, rest) : member] as const
  const entries = Object.entries(value).map(step)
  return Array.isArray(value) ? entries.map(([, member]) => member) : Object.fromEntries(entries)
}

/** An array that the path does not mention, neither by `*` nor by an index. */
function isPassed(value: object, step: string): value is unknown[] {
  return Array.isArray(value) && step !== '*' && !/^\d+$/.test(step)
}

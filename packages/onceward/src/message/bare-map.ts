/**
 * A map whose names come from a message. It has no prototype, so that only names that were sent are found and
 * `__proto__` is an ordinary name.
 */
export type BareMap = Record<string, unknown>

export const emptyMap: Readonly<Record<string, never>> = Object.freeze(Object.create(null))

export function bareMap<T extends object = BareMap>(): { -readonly [Name in keyof T]: T[Name] } {
  return Object.create(null)
}

/** The members of all maps; later maps override earlier ones. */
export function bareCopy(...from: readonly object[]): BareMap {
  return Object.assign(Object.create(null), ...from)
}

/**
 * Removes the prototype from every map of a freshly parsed value, in place. It uses a list instead of
 * recursion, because a parser accepts nesting that exhausts the stack.
 */
export function withoutPrototypes<T>(read: T): T {
  const left: unknown[] = [read]
  while (left.length > 0) {
    const value = left.pop()
    if (value === null || typeof value !== 'object' || value instanceof Uint8Array) continue
    if (!Array.isArray(value)) Object.setPrototypeOf(value, null)
    for (const part of Object.values(value)) if (part !== null && typeof part === 'object') left.push(part)
  }
  return read
}

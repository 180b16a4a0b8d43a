/**
 * A map whose names come from a message: without a prototype, so that no name is found that was not sent and
 * `__proto__` is a name like others.
 */
export type BareMap = Record<string, unknown>

export const emptyMap: Readonly<Record<string, never>> = Object.freeze(Object.create(null))

export function bareMap<T extends object = BareMap>(): { -readonly [Name in keyof T]: T[Name] } {
  return Object.create(null)
}

/** The names of all, those of later ones over those of earlier ones. */
export function bareCopy(...from: readonly object[]): BareMap {
  return Object.assign(Object.create(null), ...from)
}

/**
 * Takes the prototype from every map in what a parser has just made, in place. By a list of its own, not by
 * calling itself: the parser reads nesting that no stack holds.
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

/** Thrown for a whole number that the contract's codec would round. */
export class InexactNumber extends Error {
  /** The message with all digits: whole numbers beyond 2^53 as bigint. */
  readonly exact: unknown

  constructor(text: string, exact: unknown) {
    super(text)
    this.exact = exact
  }
}

/** Rounded numbers by value, with the text they were read from. */
export type InexactNumbers = ReadonlyMap<number, string>

const ofMessages = new WeakMap<object, InexactNumbers>()

/** Records numbers of a message whose text had more digits than a double: rounded, they are not amounts. */
export function noteInexact(message: unknown, numbers: InexactNumbers): void {
  if (numbers.size > 0 && message !== null && typeof message === 'object') ofMessages.set(message, numbers)
}

/** The output of a schema has the same numbers as its input. */
export function carryInexact(from: unknown, to: unknown): void {
  const numbers = inexactOf(from)
  if (numbers !== null) noteInexact(to, numbers)
}

export function inexactOf(message: unknown): InexactNumbers | null {
  return message !== null && typeof message === 'object' ? (ofMessages.get(message) ?? null) : null
}

/** Why a number may differ from the message's text; null if it does not. */
export function whyInexact(value: unknown, inexact: InexactNumbers | null): string | null {
  if (typeof value !== 'number') return null
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) return unsafeText(value)
  return whyRounded(value, inexact)
}

/** The same for a measurement of any size. */
export function whyRounded(value: number, inexact: InexactNumbers | null): string | null {
  if (!Number.isFinite(value)) return `${value} is not a number that a table can store`
  const source = inexact?.get(value)
  return source === undefined
    ? null
    : `${source.slice(0, 60)} has more digits than a JavaScript number keeps (${value}); send it as text`
}

/** The same for a number anywhere in a document. */
export function inexactWithin(value: unknown, inexact: InexactNumbers): string | null {
  if (value === null || typeof value !== 'object') return whyInexact(value, inexact)
  if (ArrayBuffer.isView(value)) return null
  for (const inner of Object.values(value)) {
    const why = inexactWithin(inner, inexact)
    if (why !== null) return why
  }
  return null
}

export function unsafeText(value: number): string {
  return `${value} is a whole number of 2^53 or more, which a JavaScript number rounds; send it as text, or use jsonBigintCodec`
}

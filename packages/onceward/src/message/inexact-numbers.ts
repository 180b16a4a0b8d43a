/** A message with a whole number that the contract's codec would round. */
export class InexactNumber extends Error {
  /** The message with its digits: whole numbers beyond 2^53 as bigint. */
  readonly exact: unknown

  constructor(text: string, exact: unknown) {
    super(text)
    this.exact = exact
  }
}

/** Numbers by their values, with the text they were read from. */
export type InexactNumbers = ReadonlyMap<number, string>

const ofMessages = new WeakMap<object, InexactNumbers>()

/** Notes numbers of a message whose text had more digits than a double keeps: rounded they are no amounts. */
export function noteInexact(message: unknown, numbers: InexactNumbers): void {
  if (numbers.size > 0 && message !== null && typeof message === 'object') ofMessages.set(message, numbers)
}

/** What a schema makes of a message has the same numbers. */
export function carryInexact(from: unknown, to: unknown): void {
  const numbers = inexactOf(from)
  if (numbers !== null) noteInexact(to, numbers)
}

export function inexactOf(message: unknown): InexactNumbers | null {
  return message !== null && typeof message === 'object' ? (ofMessages.get(message) ?? null) : null
}

/** Why a number may not be what the message says; null where it is. */
export function whyInexact(value: unknown, inexact: InexactNumbers | null): string | null {
  if (typeof value !== 'number') return null
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) return unsafeText(value)
  return whyRounded(value, inexact)
}

/** The same for a measurement, of whatever size. */
export function whyRounded(value: number, inexact: InexactNumbers | null): string | null {
  if (!Number.isFinite(value)) return `${value} is no number that a table keeps`
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
  return `${value} is a whole number of 2^53 or more, whose digits a JavaScript number does not keep; send it as text, or read the message with jsonBigintCodec`
}

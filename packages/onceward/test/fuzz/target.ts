/** One decoder or text reader. `check` throws when a promise about it is broken. */
export interface Target {
  readonly name: string
  /** How inputs are varied: as bytes, as characters, or as a JSON tree. */
  readonly kind: 'bytes' | 'text' | 'json'
  readonly seeds: readonly (Buffer | string | object)[]
  /** Words that the reader looks for. */
  readonly words?: readonly (string | Buffer)[]
  readonly bytesMax?: number
  check(input: Buffer): void | Promise<void>
}

/** Answers with the value, or null for an error that the reader is documented to throw. */
export function orRefused<T>(read: () => T, isRefusal: (error: Error) => boolean): T | null {
  try {
    return read()
  } catch (error) {
    if (error instanceof Error && !isOverflow(error) && isRefusal(error)) return null
    throw error
  }
}

/** A reader that recurses without a limit refuses only because the stack was exhausted. */
export function isOverflow(error: Error): boolean {
  return error instanceof RangeError && error.message.startsWith('Maximum call stack')
}

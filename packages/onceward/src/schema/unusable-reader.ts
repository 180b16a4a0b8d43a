import { errorText, OncewardError } from '../errors.ts'

/** A mistake in the contract, not in a message: the consumer pauses. */
export function unusableReader(error: unknown): never {
  if (error instanceof OncewardError) throw error
  throw new OncewardError(
    'configuration',
    `The codec's reader schema cannot be used: ${errorText(error, 300)}`,
    {
      cause: error,
    },
  )
}

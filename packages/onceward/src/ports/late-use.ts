import { OncewardError } from '../errors.ts'

/** Explains why `tx` is closed: the handler had returned, or its call was ended. */
export function lateUse(cut: Error | undefined, instead: string): OncewardError {
  return new OncewardError(
    'tx_closed',
    cut === undefined
      ? `A handler used \`tx\` after it had returned; ${instead}. Await everything before returning.`
      : `The transaction of this handler has ended, because its call was ended before it returned: ${cut.message} So ${instead}.`,
    { cause: cut },
  )
}

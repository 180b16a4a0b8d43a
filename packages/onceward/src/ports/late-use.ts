import { OncewardError } from '../errors.ts'

/**
 * Whose fault it is that `tx` is closed: the handler's that had returned, or nobody's where its call was
 * ended.
 */
export function lateUse(cut: Error | undefined, instead: string): OncewardError {
  return new OncewardError(
    'tx_closed',
    cut === undefined
      ? `A handler used \`tx\` after it had returned; ${instead}. Await everything before returning.`
      : `The transaction of this handler is over, because its call was ended before it returned: ${cut.message} So ${instead}.`,
    { cause: cut },
  )
}

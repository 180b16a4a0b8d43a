import { OncewardError } from '../errors.ts'

/** The error of a late statement: the handler had returned, or its call was aborted (`cut`). */
export function lateUse(cut: Error | undefined, instead: string): OncewardError {
  return new OncewardError(
    'tx_closed',
    cut === undefined
      ? `A handler used \`tx\` after it had returned; ${instead}. Await everything before returning.`
      : `The transaction of this handler has ended, because the handler was aborted before it returned: ${cut.message} Therefore ${instead}.`,
    { cause: cut },
  )
}

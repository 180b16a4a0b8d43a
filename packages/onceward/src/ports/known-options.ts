import { OncewardError } from '../errors.ts'
import { nearestName } from './nearest-name.ts'

/** A misspelt option must not pass for a default: `singleActiveConsummer` would silently give up order. */
export function assertKnownOptions(what: string, given: object, known: readonly string[]): void {
  const unknown = Object.keys(given).find(key => !known.includes(key))
  if (unknown === undefined) return
  const near = nearestName(unknown, known)
  const hint = near === null ? `There are ${known.join(', ')}.` : `Did you mean "${near}"?`
  throw new OncewardError(
    'configuration',
    `${what}: there is no option "${unknown}". ${hint} Nothing was opened.`,
  )
}

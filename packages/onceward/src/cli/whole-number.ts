import { OncewardError } from '../errors.ts'

/** The number of a row as a person typed it. It stays a text: the database counts further than JavaScript. */
export function rowNumber(text: string, of: string, command: string): string {
  if (/^[1-9]\d{0,17}$/.test(text)) return text
  throw refused(text, of, command)
}

/** How many, as a person typed it: what an integer column takes. */
export function wholeNumber(text: string, what: string, command: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw refused(text, `${what} (from 1, nine digits at most)`, command)
}

/** A time in seconds as a person typed it, in milliseconds; nothing is longer than eleven days. */
export function secondsMs(text: string, flag: string, command: string): number {
  if (/^\d{1,6}(\.\d{1,3})?$/.test(text)) return Number(text) * 1_000
  throw new OncewardError(
    'usage',
    `"${text}" is no number of seconds for ${flag}. Nothing was started; see "${command}".`,
  )
}

/** Undefined where none was given: no limit. */
export function startTimeout(flags: { startTimeout?: string }, command: string): number | undefined {
  const { startTimeout: given } = flags
  const ms = given === undefined ? undefined : secondsMs(given, '--start-timeout', command)
  if (ms === 0) throw new OncewardError('usage', `--start-timeout must be more than 0. See "${command}".`)
  return ms
}

function refused(text: string, what: string, command: string): OncewardError {
  return new OncewardError(
    'usage',
    `"${text}" is no whole number for ${what}. Nothing was changed; see "${command}".`,
  )
}

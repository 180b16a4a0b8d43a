import { availableParallelism } from 'node:os'
import { OncewardError } from '../errors.ts'

const processesMax = 64

/** A row id as typed. It stays text: bigint ids exceed the integers of JavaScript. */
export function rowNumber(text: string, of: string, command: string): string {
  if (/^[1-9]\d{0,17}$/.test(text)) return text
  throw refused(text, of, command)
}

/** A count as typed, within the range of an integer column. */
export function wholeNumber(text: string, what: string, command: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw refused(text, `${what} (from 1, nine digits at most)`, command)
}

/** Seconds as typed, returned as milliseconds; at most eleven days. */
export function secondsMs(text: string, flag: string, command: string): number {
  if (/^\d{1,6}(\.\d{1,3})?$/.test(text)) return Number(text) * 1_000
  throw new OncewardError(
    'usage',
    `"${text}" is not a valid number of seconds for ${flag}. Nothing was started; see "${command}".`,
  )
}

/** Undefined, meaning no limit, when not given. */
export function startTimeout(flags: { startTimeout?: string }, command: string): number | undefined {
  const { startTimeout: given } = flags
  const ms = given === undefined ? undefined : secondsMs(given, '--start-timeout', command)
  if (ms === 0) throw new OncewardError('usage', `--start-timeout must be greater than 0. See "${command}".`)
  return ms
}

/** From 1 to 64; `auto`: one per core. */
export function processCount(text: string, command: string): number {
  if (text === 'auto') return Math.min(processesMax, availableParallelism())
  const count = wholeNumber(text, '--processes', command)
  if (count <= processesMax) return count
  throw new OncewardError('usage', `--processes is at most ${processesMax}. Nothing was started.`)
}

function refused(text: string, what: string, command: string): OncewardError {
  return new OncewardError(
    'usage',
    `"${text}" is not a valid ${what}. Nothing was changed; see "${command}".`,
  )
}

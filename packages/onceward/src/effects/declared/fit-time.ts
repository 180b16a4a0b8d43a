import { readClock, readIsoTime, timeMaxMs, timeMinMs, utcText, whyNoDay } from '../../message/iso-time.ts'
import { type Fit, Unfit } from './fit-number.ts'

/** The default number of fractional digits of a second. */
export const usualPrecision = 6

/** For time and date columns; null for others. */
export function fitTime(name: string, [precision = usualPrecision]: readonly number[]): Fit | null {
  switch (name) {
    case 'timestamp with time zone':
    case 'timestamp without time zone':
      return value => fitMoment(value, precision)
    case 'date':
      return fitDay
    case 'time without time zone':
      return value => fitClock(value, precision, false)
    case 'time with time zone':
      return value => fitClock(value, precision, true)
    default:
      return null
  }
}

const asMoment = 'give a Date, or ISO 8601 text with its time zone (2026-11-17T08:30:00Z)'

/** Converts to UTC. A column without a time zone drops the given offset and stores the local time of day. */
function fitMoment(value: unknown, precision: number): string {
  const text = value instanceof Date ? textOfDate(value) : value
  if (typeof text !== 'string') throw new Unfit(`it is not a time; ${asMoment}`)
  const time = readIsoTime(text)
  if (typeof time === 'string') throw new Unfit(`${time}; ${asMoment}`)
  assertPrecise(time.fraction, precision)
  const utc = utcText(time.ms)
  return time.fraction === '' ? `${utc}Z` : `${utc}.${time.fraction}Z`
}

function fitDay(value: unknown): string {
  const text = value instanceof Date ? textOfDate(value).replace('T00:00:00.000Z', '') : value
  const why = typeof text === 'string' ? whyNoDay(text) : 'it is not a date'
  if (why === null) return text as string
  throw new Unfit(`${why}; give ISO 8601 text without a time (2026-11-17), or a Date at midnight UTC`)
}

function fitClock(value: unknown, precision: number, zoned: boolean): string {
  const clock = typeof value === 'string' ? readClock(value, zoned) : 'it is not a time of day'
  if (typeof clock === 'string') throw new Unfit(`${clock}; give ISO 8601 text (08:30:00${zoned ? 'Z' : ''})`)
  assertPrecise(clock.fraction, precision)
  return value as string
}

export function assertPrecise(fraction: string, precision: number): void {
  if (fraction.length > precision)
    throw new Unfit(`it has more fractional digits of a second than the ${precision} that the column stores`)
}

function textOfDate(date: Date): string {
  const ms = date.getTime()
  if (Number.isNaN(ms)) throw new Unfit('it is an invalid Date')
  if (ms < timeMinMs || ms > timeMaxMs) throw new Unfit('it is outside of the years 1 to 9999')
  return date.toISOString()
}

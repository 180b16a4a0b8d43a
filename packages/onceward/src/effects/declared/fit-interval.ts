import { type Fit, Unfit } from './fit-number.ts'
import { assertPrecise, usualPrecision } from './fit-time.ts'

const form =
  /^P(?=[-\d]|T[-\d])(?:(-?\d{1,9})Y)?(?:(-?\d{1,9})M)?(?:(-?\d{1,9})W)?(?:(-?\d{1,9})D)?(?:T(?=[-\d])(?:(-?\d{1,9})H)?(?:(-?\d{1,9})M)?(?:(-?\d{1,9})(?:\.(\d{1,12}))?S)?)?$/

/**
 * The parts that `interval year to month` and the like discard silently, by the last field of the type. Parts
 * above it are kept.
 */
const finest = ['year', 'month', 'day', 'hour', 'minute', 'second']

/**
 * For interval columns; null for others. PostgreSQL reads other forms by the session's IntervalStyle, which
 * decides the signs of `-1 2:03:04`. Fractions are accepted for seconds only: PostgreSQL makes fifteen days
 * of half a month.
 */
export function fitInterval(name: string, [precision = usualPrecision]: readonly number[]): Fit | null {
  if (!/^interval( |$)/.test(name)) return null
  const last = name === 'interval' ? 'second' : name.split(' ').at(-1)!
  return value => {
    const parts = typeof value === 'string' ? form.exec(value) : null
    if (parts === null)
      throw new Unfit(
        'it is not an ISO 8601 interval; give text as P1Y2M3DT4H5M6.5S, with a fraction of seconds only',
      )
    const [, years, months, weeks, days, hours, minutes, seconds, digits = ''] = parts
    const fraction = digits.replace(/0+$/, '')
    assertPrecise(fraction, precision)
    const given: readonly (readonly [string, ...(string | undefined)[]])[] = [
      ['year', years],
      ['month', months],
      ['day', weeks, days],
      ['hour', hours],
      ['minute', minutes],
      ['second', seconds, fraction],
    ]
    const lost = given.find(
      ([part, ...values]) =>
        finest.indexOf(part) > finest.indexOf(last) && values.some(one => Number(one ?? 0) !== 0),
    )
    if (lost !== undefined) throw new Unfit(`it has a ${lost[0]}, which ${name} does not store`)
    return value
  }
}

import { type InexactNumbers, whyInexact, whyRounded } from '../../message/inexact-numbers.ts'
import { columnType, scaleOf } from './column-type.ts'
import { decimalOf } from './decimal.ts'

/** Returns the value in a form that PostgreSQL stores unchanged, or throws `Unfit`. */
export type Fit = (value: unknown, inexact: InexactNumbers | null) => unknown

/** Why a value does not fit its column. */
export class Unfit extends Error {}

const wholeRanges: Readonly<Record<string, bigint>> = {
  smallint: 1n << 15n,
  integer: 1n << 31n,
  bigint: 1n << 63n,
}

/** Decimal digits that floating point always preserves. */
const floatDigits: Readonly<Record<string, number>> = { real: 6, 'double precision': 15 }

/** For numeric columns; null for others. */
export function fitNumber(formatted: string): Fit | null {
  const { name, sizes } = columnType(formatted)
  const range = wholeRanges[name]
  if (range !== undefined) return fitWhole(name, range)
  if (name === 'numeric') return fitDecimal(formatted, sizes)
  const digits = floatDigits[name]
  return digits === undefined ? null : fitFloat(name, digits)
}

/** Safe integers stay numbers: most values are, and text costs the client more. */
function fitWhole(name: string, range: bigint): Fit {
  return (value, inexact) => {
    const text = digitsOf(value, inexact)
    if (typeof text === 'number' && name === 'bigint') return text
    if (!/^-?\d{1,20}$/.test(String(text))) throw new Unfit('it is not a whole number')
    const whole = BigInt(text)
    if (whole >= range || whole < -range) throw new Unfit(`it is out of range for ${name}`)
    return text
  }
}

function fitDecimal(formatted: string, sizes: readonly number[]): Fit {
  const [precision] = sizes
  const scaleMax = scaleOf(formatted)
  const wholeMax = precision === undefined ? null : 10n ** BigInt(Math.max(0, precision - scaleMax))
  return (value, inexact) => {
    const text = digitsOf(value, inexact)
    if (typeof text === 'number' && wholeMax === null) return text
    const decimal = decimalOf(String(text))
    if (decimal === null) throw new Unfit('it is not a plain decimal number')
    const { units, scale } = trimmed(decimal)
    if (scale > scaleMax) throw new Unfit(`it has more decimal places than ${formatted} stores`)
    const size = units < 0n ? -units : units
    if (wholeMax !== null && size >= wholeMax * 10n ** BigInt(scale))
      throw new Unfit(`it has more digits before the decimal point than ${formatted} stores`)
    return text
  }
}

/** Removes trailing zeros after the decimal point. */
function trimmed({ units, scale }: { units: bigint; scale: number }): { units: bigint; scale: number } {
  let [left, places] = [units, scale]
  while (places > 0 && left % 10n === 0n) {
    left /= 10n
    places--
  }
  return { units: left, scale: places }
}

/**
 * A double is stored in a double column unchanged. Other values may have only as many digits as the type
 * always preserves.
 */
function fitFloat(name: string, digitsMax: number): Fit {
  return (value, inexact) => {
    if (typeof value === 'number' && name === 'double precision') return measured(value, inexact)
    const text = digitsOf(value, inexact)
    const decimal = decimalOf(String(text))
    if (decimal === null) throw new Unfit('it is not a plain decimal number')
    const digits = String(decimal.units).replace(/^-|0+$/g, '')
    if (digits.length > digitsMax)
      throw new Unfit(
        `it has more than the ${digitsMax} digits that ${name} preserves; make the column numeric`,
      )
    return text
  }
}

function measured(value: number, inexact: InexactNumbers | null): number {
  const why = whyRounded(value, inexact)
  if (why !== null) throw new Unfit(why)
  return value
}

/** A safe integer, or plain decimal text without an exponent. */
function digitsOf(value: unknown, inexact: InexactNumbers | null): string | number {
  if (typeof value === 'string') return value
  if (typeof value === 'bigint') return value.toString()
  if (typeof value !== 'number') throw new Unfit('it is not a number')
  const why = whyInexact(value, inexact)
  if (why !== null) throw new Unfit(why)
  return Number.isInteger(value) ? (Object.is(value, -0) ? 0 : value) : plainDecimal(value)
}

/** Writes `1e-7` without an exponent. */
function plainDecimal(value: number): string {
  const text = String(value)
  const [, sign, whole, fraction = '', exponent] = /^(-?)(\d)(?:\.(\d+))?e-(\d+)$/.exec(text) ?? []
  return exponent === undefined ? text : `${sign}0.${'0'.repeat(Number(exponent) - 1)}${whole}${fraction}`
}

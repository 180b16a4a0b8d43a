import { type InexactNumbers, inexactWithin, whyInexact } from '../../message/inexact-numbers.ts'
import { columnType } from './column-type.ts'
import { fitInterval } from './fit-interval.ts'
import { type Fit, fitNumber, Unfit } from './fit-number.ts'
import { fitTime } from './fit-time.ts'

export { type Fit, Unfit } from './fit-number.ts'

/**
 * Converts values for a column of this type, as `format_type` writes it, with domains resolved. PostgreSQL
 * silently rounds numbers and times, trims spaces and interprets `now`. A value that it would change is
 * refused here, with the reason. Null stays null. Types that are not listed accept what PostgreSQL accepts.
 */
export function fitColumn(formatted: string): Fit {
  const { name, isArray, sizes } = columnType(formatted)
  const fit =
    fitNumber(formatted.replace('[]', '')) ??
    fitTime(name, sizes) ??
    fitInterval(name, sizes) ??
    fitText(name, sizes) ??
    exactly
  const orNull: Fit = (value, inexact) => (value == null ? value : fit(value, inexact))
  return isArray ? fitElements(orNull, fit !== exactly && !keepsOrFails.test(formatted)) : orNull
}

/** Array types whose elements PostgreSQL stores unchanged or refuses. */
const keepsOrFails = /^(smallint|integer|bigint|numeric)\[\]$/

/** PostgreSQL parses a text into elements and may silently change them. */
function fitElements(fit: Fit, mayChange: boolean): Fit {
  const elements: Fit = (value, inexact) =>
    Array.isArray(value) ? value.map(one => elements(one, inexact)) : fit(value, inexact)
  return (value, inexact) => {
    if (value == null || Array.isArray(value)) return elements(value, inexact)
    if (mayChange) throw new Unfit('it is not a list; pass an array of values')
    return exactly(value, inexact)
  }
}

/** PostgreSQL stores 63 bytes of a name. */
const nameBytesMax = 63

function fitText(name: string, [length]: readonly number[]): Fit | null {
  if (name === '"char"') return sized(text => Buffer.byteLength(text) <= 1, 'it has more than 1 byte')
  if (name === 'name')
    return sized(text => Buffer.byteLength(text) <= nameBytesMax, `it has more than ${nameBytesMax} bytes`)
  if ((name !== 'character varying' && name !== 'character') || length === undefined) return null
  return sized(
    text => text.length <= length || [...text].length <= length,
    `it has more characters than ${name}(${length}) stores`,
  )
}

function sized(fits: (text: string) => boolean, why: string): Fit {
  return (value, inexact) => {
    const checked = exactly(value, inexact)
    if (!fits(String(checked))) throw new Unfit(why)
    return checked
  }
}

/** Refuses rounded numbers, also inside text and JSON documents. */
function exactly(value: unknown, inexact: InexactNumbers | null): unknown {
  const why = whyInexact(value, inexact) ?? (inexact === null ? null : inexactWithin(value, inexact))
  if (why !== null) throw new Unfit(why)
  return value
}

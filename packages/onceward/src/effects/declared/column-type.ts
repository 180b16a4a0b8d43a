/**
 * A parsed type name of the catalogue, as `format_type` writes it: `numeric(10,2)[]`,
 * `timestamp(0) with time zone`.
 */
export interface ColumnType {
  readonly name: string
  readonly isArray: boolean
  /** The numbers in parentheses, such as length, precision or scale. */
  readonly sizes: readonly number[]
}

export function columnType(formatted: string): ColumnType {
  const isArray = formatted.endsWith('[]')
  const sizes = /\(([-\d,]+)\)/.exec(formatted)?.[1]
  return {
    name: formatted
      .replace('[]', '')
      .replace(/\([-\d,]+\)/, '')
      .replace(/^pg_catalog\./, ''),
    isArray,
    sizes: sizes === undefined ? [] : sizes.split(',').map(Number),
  }
}

/** The scale limit of a numeric column without one. */
const unboundedScale = 200

/**
 * The number of decimal places that a column of this type stores. A negative scale rounds even whole numbers.
 */
export function scaleOf(formatted: string): number {
  const { name, sizes } = columnType(formatted)
  if (name !== 'numeric') return 0
  return sizes.length === 0 ? unboundedScale : (sizes[1] ?? 0)
}

/** Ranges over these types: the limits of others depend on the session, as `now` does, or are rounded. */
const soundLimits = new Set(['integer', 'bigint', 'numeric'])

/** Types whose input PostgreSQL looks up by the search path. */
const lookedUp = /^reg(class|collation|config|dictionary|namespace|oper|operator|proc|procedure|role|type)$/

/** Why a column of this type must not be used, or null. The type is as `keptType` reports it. */
export function unfitType(formatted: string): string | null {
  const { name } = columnType(formatted)
  if (name === 'money') return 'is money, which rounds and depends on the session; make it numeric'
  if (lookedUp.test(name)) return `is ${name}, which depends on the search path of the session; make it text`
  const [, container, within] =
    /^(range|multirange|row) of (.*)$/s.exec(formatted.replace(/(\[\])+$/, '')) ?? []
  if (container === undefined) return null
  if (container === 'row')
    return `is the composite type ${within}, whose fields are not checked; make a column of each field, or jsonb`
  return soundLimits.has(within!)
    ? null
    : `is a ${container} of ${within}, which depends on the session or rounds; make a column of each limit`
}

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
    name: formatted.replace('[]', '').replace(/\([-\d,]+\)/, ''),
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

/** Why a column of this type must not be used, or null. */
export function unfitType(formatted: string): string | null {
  return columnType(formatted).name === 'money'
    ? 'is money, which rounds and depends on the session; make it numeric'
    : null
}

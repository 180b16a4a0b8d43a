/**
 * A type of the catalogue, as `format_type` writes it, taken apart: `numeric(10,2)[]`,
 * `timestamp(0) with time zone`.
 */
export interface ColumnType {
  readonly name: string
  readonly isArray: boolean
  /** What stands in brackets, such as length, precision or scale. */
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

/** As many digits after the point as any value may have. */
const unboundedScale = 200

/** Digits after the point that a column of this type keeps; below zero it rounds even whole numbers. */
export function scaleOf(formatted: string): number {
  const { name, sizes } = columnType(formatted)
  if (name !== 'numeric') return 0
  return sizes.length === 0 ? unboundedScale : (sizes[1] ?? 0)
}

/** Why no value should be kept in a column of this type; null where it may. */
export function unfitType(formatted: string): string | null {
  return columnType(formatted).name === 'money'
    ? 'is money, which rounds and depends on the session; make it numeric'
    : null
}

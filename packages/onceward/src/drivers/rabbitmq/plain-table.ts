import { bareMap } from '../../message/bare-map.ts'
import { wideDigits } from '../../message/wide-integer.ts'

type Table = Record<string, unknown>

/**
 * The client library treats a table with the key `!` as a typed value. A value it read in that form is sent
 * unchanged. Any other such table was written by a publisher, and is sent as a table.
 */
export function plainTable(headers: Table): Table {
  const table = bareMap()
  for (const [name, value] of Object.entries(headers)) table[name] = plainValue(value)
  return table
}

function plainValue(value: unknown): unknown {
  if (value === null || typeof value !== 'object' || value instanceof Uint8Array) return value
  if (Array.isArray(value)) return value.map(plainValue)
  if (!Object.hasOwn(value, '!')) return plainTable(value as Table)
  return isTyped(value as Table) ? value : { '!': 'object', value: plainTable(value as Table) }
}

/** The types that the client library reads into this form. */
function isTyped(table: Table): boolean {
  if (wideDigits(table) !== null) return true
  const { '!': type, value, ...rest } = table
  if (Object.keys(rest).length > 0) return false
  if (type === 'timestamp') return Number.isSafeInteger(value) && (value as number) >= 0
  if (type === 'float') return typeof value === 'number'
  return type === 'decimal' && isDecimal(value)
}

function isDecimal(value: unknown): boolean {
  const { places, digits } = (value ?? {}) as { places?: unknown; digits?: unknown }
  return isWhole(places, 255) && isWhole(digits, 2 ** 32 - 1)
}

const isWhole = (value: unknown, max: number) =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) <= max

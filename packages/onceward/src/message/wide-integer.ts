import { bareMap } from './bare-map.ts'

const type = 'int64'

/**
 * An integer of a RabbitMQ header that no JavaScript number represents exactly, in the client's form of a
 * typed value. JSON preserves it, and a copy of the message carries the same header.
 */
export function wideInteger(value: bigint): object {
  const made = bareMap()
  made['!'] = type
  made.value = value.toString()
  return made
}

/** The digits of such an integer; null for anything else. */
export function wideDigits(value: unknown): string | null {
  if (value === null || typeof value !== 'object') return null
  const { '!': tag, value: digits } = value as Record<string, unknown>
  if (tag !== type || typeof digits !== 'string' || !/^-?[1-9]\d{15,18}$/.test(digits)) return null
  const exact = BigInt(digits)
  const isWide = !Number.isSafeInteger(Number(exact)) && BigInt.asIntN(64, exact) === exact
  return isWide && Object.keys(value).length === 2 ? digits : null
}

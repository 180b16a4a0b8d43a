import { errorText } from '../errors.ts'
import { withoutPrototypes } from './bare-map.ts'
import { wideInteger } from './wide-integer.ts'

/**
 * Headers and properties in stored form: JSON, with bytes as `{"$bytes": base64}`, so that they read back
 * exactly as the broker delivered them. Headers that cannot be serialised are replaced by the reason.
 */
export function toStoredJson(value: object): string {
  if (Object.keys(value).length === 0) return '{}'
  try {
    return stringify(value)
  } catch (error) {
    return JSON.stringify({ $unstorable: errorText(error, 200) })
  }
}

/** Throws if nesting exhausts the stack or a value cannot be serialised. */
function stringify(value: unknown): string {
  return JSON.stringify(value, function replace(this: Record<string, unknown>, name, converted) {
    const original = this[name]
    if (original instanceof Uint8Array) return { $bytes: Buffer.from(original).toString('base64') }
    return typeof original === 'bigint' ? `${original}` : converted
  })
}

/** Maps have no prototypes, like those of sources. */
export function fromStoredJson(text: string): Record<string, unknown> {
  try {
    return withoutPrototypes(JSON.parse(text, readBack as (name: string, value: unknown) => unknown))
  } catch (error) {
    // Nested too deeply for the reviver, and therefore over every limit; plain parsing needs no stack.
    if (error instanceof RangeError) return withoutPrototypes(JSON.parse(text))
    throw error
  }
}

/** The same for a value that was already parsed as part of other JSON. */
export function withBytes(read: object): Record<string, unknown> {
  try {
    return fromStoredJson(JSON.stringify(read))
  } catch (error) {
    if (error instanceof RangeError) return withoutPrototypes(read) as Record<string, unknown>
    throw error
  }
}

/**
 * Whole numbers beyond 2^53 in the form sources use, or their digits: an operator may write a row by hand.
 */
function readBack(_name: string, value: unknown, { source }: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value) || !/^-?\d+$/.test(source ?? ''))
    return bytesOf(value)
  const exact = BigInt(source!)
  return BigInt.asIntN(64, exact) === exact ? wideInteger(exact) : exact.toString()
}

function bytesOf(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value
  const { $bytes } = value as { $bytes?: unknown }
  return typeof $bytes === 'string' && Object.keys(value).length === 1 ? Buffer.from($bytes, 'base64') : value
}

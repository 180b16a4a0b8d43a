import type { BatchItem } from '../../contract/handler.ts'
import { isVerdict, Verdict } from '../../engine/batch/verdicts.ts'
import { errorText } from '../../errors.ts'
import { exactJson } from '../../message/exact-json.ts'
import { readId } from '../../message/identity.ts'
import { type InexactNumbers, inexactOf, unsafeText } from '../../message/inexact-numbers.ts'
import { wideDigits } from '../../message/wide-integer.ts'
import { arrayLiteral } from './array-literal.ts'
import { type Fit, fitColumn, Unfit } from './fit-column.ts'

/** Reads one field of an effect from a message. `envelope` has its identities and headers. */
export type FieldOf<M, T> = (message: M, item: Pick<BatchItem<M>, 'envelope' | 'run'>) => T

/** Reads one message for a declaration. Throws a verdict when a declared field is missing or invalid. */
export type ItemReader<M, R> = (item: BatchItem<M>) => R

/** Reads every message of the batch. One that cannot be read gets a verdict and is skipped. */
export function readAll<M, R>(
  batch: readonly BatchItem<M>[],
  read: ItemReader<M, R>,
  verdicts: Map<BatchItem<M>, Verdict>,
): R[] {
  const requests: R[] = []
  for (const item of batch) {
    try {
      requests.push(read(item))
    } catch (error) {
      verdicts.set(item, isVerdict(error) ? error : unreadable('a declared field', errorText(error, 200)))
    }
  }
  return requests
}

/** The code of messages without a usable value for a declared field. */
export const unreadableCode = 'field_unreadable'

export function unreadable(field: string, why: string): Verdict {
  return Verdict.quarantine(`${field} cannot be read from the message: ${why}`, unreadableCode)
}

/** An identity stored in a table of facts. The rules of message ids apply. */
export function idField(value: unknown, field: string): string {
  const reading = readId(value)
  if ('id' in reading) return reading.id
  throw unreadable(field, reading.text)
}

const keyBytesMax = 1_000

/**
 * A key of one of the user's tables, used verbatim or refused. Text derived from an object or function would
 * be one key for many.
 */
export function keyField(given: unknown, field: string): string {
  const value = wideDigits(given) ?? given
  if (
    typeof value === 'function' ||
    (value !== null && typeof value === 'object' && !(value instanceof Date))
  )
    throw unreadable(field, 'it is neither text nor a number')
  if (typeof value === 'number' && !Number.isSafeInteger(value))
    throw unreadable(field, Number.isInteger(value) ? unsafeText(value) : `${value} is not a whole number`)
  const text = textOf(value, field)
  if (text === null || text === '') throw unreadable(field, 'it is missing')
  if (text.length * 3 > keyBytesMax && Buffer.byteLength(text) > keyBytesMax)
    throw unreadable(field, `more than ${keyBytesMax} bytes`)
  return text
}

/** Converts a value to what its column stores. Throws a verdict where PostgreSQL would change it. */
export function fittingField(
  fit: Fit,
  value: unknown,
  field: string,
  inexact: InexactNumbers | null,
): unknown {
  try {
    return fit(wideDigits(value) ?? value, inexact)
  } catch (error) {
    throw error instanceof Unfit ? unreadable(field, error.message) : error
  }
}

/** Reads the value of a column from a message, as text. `keeps` is the column's type. */
export function columnReader<M>(
  read: FieldOf<M, unknown>,
  keeps: string,
  field: string,
): (item: BatchItem<M>) => string | null | undefined {
  const fit = fitColumn(keeps)
  const isArray = keeps.endsWith('[]')
  return item => {
    const value = read(item.message, item)
    if (value === undefined) return undefined
    const fitting = fittingField(fit, value, field, inexactOf(item.message))
    return textOf(isArray && Array.isArray(fitting) ? arrayLiteral(fitting) : fitting, field)
  }
}

/** A value as PostgreSQL input. Text that the database would refuse or silently change is refused here. */
export function textOf(value: unknown, field: string): string | null {
  if (value === undefined || value === null) return null
  const text = typeof value === 'string' ? value : plainText(value)
  if (!text.isWellFormed()) throw unreadable(field, 'it is not well-formed Unicode')
  if (text.includes('\0')) throw unreadable(field, 'it contains a NUL character')
  return text
}

function plainText(value: unknown): string {
  if (value instanceof Date) return value.toISOString()
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString('hex')}`
  if (typeof value === 'object') return exactJson(value)
  return String(value)
}

/** A version: a whole number, as number, bigint or text. */
export function versionField(value: unknown, field: string): bigint {
  if (typeof value === 'bigint') return value
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value)
  if (typeof value === 'string' && /^-?\d{1,18}$/.test(value)) return BigInt(value)
  if (typeof value === 'number' && Number.isInteger(value)) throw unreadable(field, unsafeText(value))
  throw unreadable(
    field,
    value === undefined || value === null ? 'it is missing' : 'it is not a whole number',
  )
}

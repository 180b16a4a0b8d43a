import { hash } from 'node:crypto'
import type { From } from '../contract/contract.ts'
import type { DeliveryFacts } from '../contract/handler.ts'
import { anyText } from '../errors.ts'
import type { Delivery } from '../ports/source.ts'
import { wideDigits } from './wide-integer.ts'

/** Ids up to this many bytes are stored unchanged: hashing would destroy the locality of ordered ids. */
const idBytesPlain = 200
const idBytesMax = 4_096
const hashedPrefix = 'sha256:'

export type IdReading =
  | { readonly id: string }
  | { readonly problem: 'missing' | 'malformed'; readonly text: string }

/**
 * The rules for identities that are keys. An id is a text, or a whole number that JSON represents exactly,
 * written in decimal: 7 and "7" are one identity, 7 and "07" are two. Any other value is malformed, and the
 * problem names it. Case counts. Surrounding space, control characters, broken Unicode and more than 4,096
 * bytes are malformed, because two systems would disagree on them. Above 200 bytes the key is the SHA-256 of
 * the id. The prefix is reserved, so that no sender can forge such a key.
 */
export function readId(value: unknown): IdReading {
  if (value === undefined || value === null) return { problem: 'missing', text: 'no id' }
  if (value === '') return { problem: 'missing', text: 'id is an empty text' }
  const id = typeof value === 'string' ? value : numberId(value)
  if (id === null)
    return { problem: 'malformed', text: `id is ${nameOf(value)}, expected a text or a whole number` }
  if (isPlain(id)) return { id }
  if (id.trim() === '') return { problem: 'missing', text: 'id is blank' }
  if (id.trim() !== id) return { problem: 'malformed', text: 'id has surrounding space' }
  if (!id.isWellFormed()) return { problem: 'malformed', text: 'id is not well-formed Unicode' }
  if (hasControlCharacter(id)) return { problem: 'malformed', text: 'id has a control character' }
  const bytes = Buffer.byteLength(id)
  if (bytes > idBytesMax) return { problem: 'malformed', text: `id of ${bytes} bytes, limit ${idBytesMax}` }
  if (bytes > idBytesPlain || id.startsWith(hashedPrefix)) return { id: hashedPrefix + hash('sha256', id) }
  return { id }
}

function isPlain(id: string): boolean {
  return id.length <= idBytesPlain && /^[!-9;-~][!-9;-~ ]*$/.test(id) && !id.endsWith(' ')
}

function numberId(value: unknown): string | null {
  if (typeof value === 'bigint') return value.toString()
  if (typeof value !== 'number') return wideDigits(value)
  return Number.isSafeInteger(value) ? value.toString() : null
}

/** Describes a value that is not an id. */
function nameOf(value: unknown): string {
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) return String(value)
    if (!Number.isInteger(value)) return `the fraction ${value}`
    return 'a whole number of 2^53 or more, which a JavaScript number rounds; send it as text'
  }
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

function hasControlCharacter(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point
  return /[\u0000-\u001f\u007f-\u009f]/.test(text)
}

/**
 * A reader for one declared identity. Its value is unchecked: it comes from the contract's function or the
 * broker.
 */
export function readerFor<M>(from: From<M, unknown>): (message: M, delivery: DeliveryFacts) => unknown {
  if (typeof from === 'function') return from
  if ('header' in from) {
    const name = from.header
    return (_message, delivery) => textOfHeader(delivery.headers[name])
  }
  const name = from.property
  return (_message, delivery) => delivery.properties[name]
}

/** True if the identity does not depend on the body. */
export function readsWithoutBody<M>(from: From<M, unknown> | 'position' | 'content'): boolean {
  return typeof from !== 'function'
}

/**
 * The position in a log as an identity. It includes the log's incarnation, so that a recreated topic has new
 * ids.
 */
export function positionId(delivery: Delivery): string | undefined {
  if (delivery.place === null) return undefined
  return `${delivery.place.incarnation}/${delivery.partition}@${delivery.place.at}`
}

/** Kafka's headers are bytes. */
export function textOfHeader(value: unknown): unknown {
  return value instanceof Uint8Array ? Buffer.from(value).toString('utf8') : (wideDigits(value) ?? value)
}

/**
 * An identity that is not a key here, but may be one elsewhere. It has the form of keys, so that two
 * different values stay different. Malformed values are only displayed.
 */
export function idText(value: unknown): string | null {
  const reading = readId(value)
  return 'id' in reading ? reading.id : storableText(value)
}

/** Text that every database accepts, for values that are displayed and not used as keys. */
export function storableText(value: unknown, lengthMax = 200): string | null {
  if (value === undefined || value === null) return null
  const text = anyText(value)
  return text.slice(0, lengthMax).toWellFormed().replaceAll('\0', '\\0')
}

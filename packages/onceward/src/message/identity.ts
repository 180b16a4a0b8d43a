import { hash } from 'node:crypto'
import type { From } from '../contract/contract.ts'
import type { DeliveryFacts } from '../contract/handler.ts'
import { anyText } from '../errors.ts'
import type { Delivery } from '../ports/source.ts'
import { wideDigits } from './wide-integer.ts'

/** Ids up to this many bytes are kept as they are: hashing would destroy the locality of ordered ids. */
const idBytesPlain = 200
const idBytesMax = 4_096
const hashedPrefix = 'sha256:'

export type IdReading =
  | { readonly id: string }
  | { readonly problem: 'missing' | 'malformed'; readonly text: string }

/**
 * The policy for identities that key something. An id is a text, or a whole number that JSON carries exactly,
 * written in decimal: 7 and "7" are one identity, 7 and "07" are two. Any other value is malformed and named.
 * Case counts; surrounding space, control characters, broken Unicode and more than 4,096 bytes are malformed,
 * because two systems would disagree on them. Above 200 bytes the key is the SHA-256 of the id; the prefix is
 * reserved so that none can be forged.
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

/** What stands where an id belongs, in words. */
function nameOf(value: unknown): string {
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) return String(value)
    if (!Number.isInteger(value)) return `the fraction ${value}`
    return 'a whole number of 2^53 or more, whose digits a JavaScript number does not keep; send it as text'
  }
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

function hasControlCharacter(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point
  return /[\u0000-\u001f\u007f-\u009f]/.test(text)
}

/** A reader for one declared identity; the value is whatever the contract's function or the broker says. */
export function readerFor<M>(from: From<M, unknown>): (message: M, delivery: DeliveryFacts) => unknown {
  if (typeof from === 'function') return from
  if ('header' in from) {
    const name = from.header
    return (_message, delivery) => textOfHeader(delivery.headers[name])
  }
  const name = from.property
  return (_message, delivery) => delivery.properties[name]
}

/** True when the identity can be read although the body cannot. */
export function readsWithoutBody<M>(from: From<M, unknown> | 'position'): boolean {
  return typeof from !== 'function'
}

/**
 * The place in a log as an identity: the log's life is part of it, so that a topic made again does not repeat
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
 * An identity that keys nothing here, but may elsewhere: in the form of those that do, so that two are never
 * one. What is none is only shown.
 */
export function idText(value: unknown): string | null {
  const reading = readId(value)
  return 'id' in reading ? reading.id : storableText(value)
}

/** Text that any database takes: for facts worth showing that key nothing. */
export function storableText(value: unknown, lengthMax = 200): string | null {
  if (value === undefined || value === null) return null
  const text = anyText(value)
  return text.slice(0, lengthMax).toWellFormed().replaceAll('\0', '\\0')
}

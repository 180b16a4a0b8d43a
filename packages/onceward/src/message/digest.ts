import { createHash, hash } from 'node:crypto'
import { type InexactNumbers, whyInexact } from './inexact-numbers.ts'
import { wideDigits } from './wide-integer.ts'

/**
 * First byte of every digest: how it was computed. Version 1 is SHA-256 over raw body, then listed headers.
 * Version 2 is that of a record without a body, over its key and listed headers: never that of an empty body,
 * and never that of another key.
 */
const [ofBody, ofTombstone] = [1, 2]

/**
 * Digest over the raw body and the headers the contract lists. Raw, because equal texts may come from
 * different bytes and equal meanings from different texts; listed headers are framed by their lengths
 * so that no value can pass for another.
 */
export function digestOf(
  body: Buffer,
  headers: Readonly<Record<string, unknown>>,
  listed: readonly string[],
): Buffer {
  return versioned(
    listed.length === 0 ? hash('sha256', body, 'binary') : digestWithHeaders(body, headers, listed),
  )
}

export function tombstoneDigest(
  key: string | null,
  headers: Readonly<Record<string, unknown>>,
  listed: readonly string[],
): Buffer {
  return versioned(digestWithHeaders(Buffer.from(JSON.stringify(key)), headers, listed), ofTombstone)
}

function digestWithHeaders(
  body: Buffer,
  headers: Readonly<Record<string, unknown>>,
  listed: readonly string[],
): string {
  const sha = createHash('sha256').update(`${body.length}:`).update(body)
  for (const name of [...listed].sort()) {
    const bytes = headerValueBytes(headers[name])
    sha.update(`${name}:${bytes === null ? 'absent' : bytes.length}:`)
    if (bytes !== null) sha.update(bytes)
  }
  return sha.digest('binary')
}

/**
 * Digest of the value given as the business content: its JSON with members in order of name. Throws where
 * JSON would leave something out: a Map turns into `{}`, and every Map would be the same content.
 */
export function businessDigestOf(value: unknown, inexact: InexactNumbers | null = null): Buffer {
  const replace = inexact === null ? wholeMembers : exactMembers(inexact)
  return versioned(hash('sha256', JSON.stringify(value, replace) ?? 'undefined', 'binary'))
}

/** Rounded, two amounts would be the same content. */
function exactMembers(inexact: InexactNumbers): typeof wholeMembers {
  return function refuseInexact(this: unknown, key, value) {
    const why = whyInexact(value, inexact)
    if (why !== null) throw new TypeError(`${placeOf(key)}: ${why}`)
    return wholeMembers.call(this, key, value)
  }
}

export function bytesDigest(bytes: Buffer): Buffer {
  return versioned(hash('sha256', bytes, 'binary'))
}

/**
 * From a binary text, one character a byte: asked for a buffer, the hash makes one outside the pool, at three
 * times the cost (2.0 against 0.7 us).
 */
function versioned(digest: string, version = ofBody): Buffer {
  const out = Buffer.allocUnsafe(33)
  out[0] = version
  out.write(digest, 1, 32, 'latin1')
  return out
}

function headerValueBytes(value: unknown): Buffer | null {
  if (value === undefined || value === null) return null
  if (value instanceof Uint8Array) return Buffer.from(value)
  return Buffer.from(typeof value === 'string' ? value : JSON.stringify(value, headerMembers))
}

/**
 * Version 1 has rounded wide integers from the first: another form of them would make conflicts of messages
 * that come again.
 */
function headerMembers(key: string, value: unknown): unknown {
  const digits = wideDigits(value)
  return digits === null ? sortedMembers(key, value) : Number(digits)
}

function sortedMembers(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return `${value}n`
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}

function wholeMembers(this: unknown, key: string, value: unknown): unknown {
  const lost = whatJsonLoses(value) ?? (value === null ? nullFrom((this as never)[key]) : null)
  if (lost === null) return sortedMembers(key, value)
  throw new TypeError(`${placeOf(key)} is ${lost}, which JSON does not carry; give plain data instead`)
}

const placeOf = (key: string) => (key === '' ? 'the value' : `member "${key}"`)

function whatJsonLoses(value: unknown): string | null {
  if (typeof value === 'function' || typeof value === 'symbol') return `a ${typeof value}`
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value)
  if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value))
    return `${value}, a whole number of 2^53 or more whose digits a JavaScript number does not keep`
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return null
  const prototype = Object.getPrototypeOf(value)
  if (prototype === null || prototype === Object.prototype) return null
  return `an instance of ${prototype.constructor?.name || 'a class'} without toJSON`
}

/** An invalid Date says of itself that it is null. */
function nullFrom(original: unknown): string | null {
  return original === null ? null : 'something whose toJSON gives null'
}

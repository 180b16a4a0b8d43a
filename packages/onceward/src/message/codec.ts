import { isUtf8 } from 'node:buffer'
import type { DeliveryFacts } from '../contract/handler.ts'
import { isPlainlyWithin, scanJson } from './json-scan.ts'
import type { Limits } from './limits.ts'

/** Bytes to a value. Throws on anything it cannot read faithfully; must not keep the bytes. */
export interface Codec {
  readonly name: string
  decode(bytes: Buffer, limits: Limits, delivery: DeliveryFacts): unknown
}

/**
 * Strict JSON: fatal UTF-8 (a lenient decoder maps distinct bytes to the same text), depth and members
 * counted before parsing, and no `__proto__` member, which a later `Object.assign` would act upon.
 */
export const jsonCodec: Codec = {
  name: 'json',
  decode(bytes, limits) {
    const text = bytes.toString('utf8')
    // What cannot be decoded becomes U+FFFD: only a text with one needs the closer look.
    if (text.includes('\ufffd') && !isUtf8(bytes)) throw new TypeError('not valid UTF-8')
    if (!isPlainlyWithin(text, limits)) scanJson(bytes, limits)
    return mayNameProto(text) ? JSON.parse(text, refuseProto) : JSON.parse(text)
  },
}

/** The bytes as they are, for contracts that decode in the handler. */
export const bytesCodec: Codec = { name: 'bytes', decode: bytes => bytes }

/** Spelled out, or hidden behind an escape. */
function mayNameProto(text: string): boolean {
  return text.includes('__proto__') || text.includes('\\u00')
}

function refuseProto(key: string, value: unknown): unknown {
  if (key === '__proto__') throw new SyntaxError('member "__proto__" is refused')
  return value
}

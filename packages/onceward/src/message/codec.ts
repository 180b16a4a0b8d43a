import type { DeliveryFacts } from '../contract/contract.ts'
import { scanJson } from './json-scan.ts'
import type { Limits } from './limits.ts'

/** Bytes to a value. Throws on anything it cannot read faithfully; must not keep the bytes. */
export interface Codec {
  readonly name: string
  decode(bytes: Buffer, limits: Limits, delivery: DeliveryFacts): unknown
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Strict JSON: fatal UTF-8 (a lenient decoder maps distinct bytes to the same text), depth and members
 * counted before parsing, and no `__proto__` member, which a later `Object.assign` would act upon.
 */
export const jsonCodec: Codec = {
  name: 'json',
  decode(bytes, limits) {
    scanJson(bytes, limits)
    const text = utf8.decode(bytes)
    return mayNameProto(bytes) ? JSON.parse(text, refuseProto) : JSON.parse(text)
  },
}

/** The bytes as they are, for contracts that decode in the handler. */
export const bytesCodec: Codec = { name: 'bytes', decode: bytes => bytes }

function mayNameProto(bytes: Buffer): boolean {
  return bytes.includes('__proto__') || bytes.includes('\\u00')
}

function refuseProto(key: string, value: unknown): unknown {
  if (key === '__proto__') throw new SyntaxError('member "__proto__" is refused')
  return value
}

import { isUtf8 } from 'node:buffer'
import type { DeliveryFacts } from '../contract/handler.ts'
import { InexactNumber, noteInexact } from './inexact-numbers.ts'
import { type ExactJson, findBigint, mayLoseDigits, parseExact } from './json-numbers.ts'
import { isPlainlyWithin, scanJson } from './json-scan.ts'
import type { Limits } from './limits.ts'

/** Bytes to a value. Throws on anything it cannot read faithfully; must not keep the bytes. */
export interface Codec {
  readonly name: string
  decode(bytes: Buffer, limits: Limits, delivery: DeliveryFacts): unknown
}

/**
 * Strict JSON: fatal UTF-8 (a lenient decoder maps distinct bytes to the same text), depth and members
 * counted before parsing, no `__proto__` member, which a later `Object.assign` would act upon, and no whole
 * number that JavaScript would round: two accounts would be one.
 */
export const jsonCodec: Codec = jsonCodecOf('json', ({ value }) => {
  const rounded = findBigint(value)
  if (rounded !== null) throw new InexactNumber(roundedText(rounded), value)
  return value
})

/**
 * The same, with whole numbers beyond 2^53 as bigint. Smaller ones are numbers: a schema that wants one type
 * coerces.
 */
export const jsonBigintCodec: Codec = jsonCodecOf('json bigint', ({ value }) => value)

/**
 * The same, rounding as `JSON.parse` does: for messages whose large numbers are measurements. Nothing that
 * identifies may be read from those.
 */
export const jsonRoundedCodec: Codec = jsonCodecOf('json rounded', null)

/** The bytes as they are, for contracts that decode in the handler. */
export const bytesCodec: Codec = { name: 'bytes', decode: bytes => bytes }

/** `finish` makes a message of what was read with all its digits; null: nobody asks for them. */
function jsonCodecOf(name: string, finish: ((exact: ExactJson) => unknown) | null): Codec {
  return {
    name,
    decode(bytes, limits) {
      const text = bytes.toString('utf8')
      // What cannot be decoded becomes U+FFFD: only a text with one needs the closer look.
      if (text.includes('\ufffd') && !isUtf8(bytes)) throw new TypeError('not valid UTF-8')
      if (!isPlainlyWithin(text, limits)) scanJson(bytes, limits)
      if (finish === null || !mayLoseDigits(bytes))
        return mayNameProto(text) ? JSON.parse(text, refuseProto) : JSON.parse(text)
      const exact = parseExact(text, refuseProto)
      const message = finish(exact)
      noteInexact(message, exact.inexact)
      return message
    },
  }
}

function roundedText({ path, found }: NonNullable<ReturnType<typeof findBigint>>): string {
  const where = path === '' ? 'the body' : `field "${path.slice(0, 100)}"`
  return `${where} is ${String(found).slice(0, 60)}, a whole number whose digits a JavaScript number does not keep; send it as text, or set message.codec to jsonBigintCodec, or to jsonRoundedCodec where it may be rounded`
}

/** Spelled out, or hidden behind an escape. */
function mayNameProto(text: string): boolean {
  return text.includes('__proto__') || text.includes('\\u00')
}

function refuseProto<T>(key: string, value?: T): T | undefined {
  if (key === '__proto__') throw new SyntaxError('member "__proto__" is refused')
  return value
}

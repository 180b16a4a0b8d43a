import { isUtf8 } from 'node:buffer'
import type { DeliveryFacts } from '../contract/handler.ts'
import { InexactNumber, noteInexact } from './inexact-numbers.ts'
import { type ExactJson, findBigint, mayLoseDigits, parseExact } from './json-numbers.ts'
import { isPlainlyWithin, scanJson } from './json-scan.ts'
import type { Limits } from './limits.ts'

/**
 * Decodes bytes. Throws on anything it cannot represent exactly; must not keep the bytes. It may return a
 * promise. Some codes of thrown errors have an outcome of their own: `registry_unavailable` and
 * `configuration` pause the consumer, and `schema_unknown` parks the message until its schema is known.
 */
export interface Codec {
  readonly name: string
  /**
   * Most milliseconds that one asynchronous decode waits for others, such as a registry; its time limit is
   * `batch.handlerTimeoutMs` and this. Default 0.
   */
  readonly waitMaxMs?: number
  decode(bytes: Buffer, limits: Limits, delivery: DeliveryFacts): unknown
  /**
   * Called for a message that was parked because its schema was unknown: whether the schema is known now.
   * Absent: only an operator releases such messages.
   */
  knows?(bytes: Buffer, limits: Limits, delivery: DeliveryFacts): Promise<boolean>
  /** Called by `onceward check --live`. Absent: nothing is compared. */
  compare?(request: ComparisonRequest): Promise<SchemaComparison>
}

export interface ComparisonRequest {
  /** The topic, queue or stream that the consumer reads. */
  readonly origin: string
  /** The schema that the producer wants to send next; null if none was given. */
  readonly next: Buffer | null
  readonly signal: AbortSignal
}

/** What the consumer reads, compared with what its subject has and will have. */
export interface SchemaComparison {
  readonly subject: string
  /** For people; without secrets. */
  readonly registry: string
  readonly versions: number
  /** Versions that the consumer cannot read, with the reason. */
  readonly unreadable: readonly { readonly version: number | 'next'; readonly reason: string }[]
  /** Why the registry would refuse the next version. */
  readonly refused: readonly string[]
  /** Why nothing could be compared; null if it was. */
  readonly notCompared: string | null
}

/**
 * Strict JSON. UTF-8 errors are fatal, because a lenient decoder maps distinct bytes to the same text. Depth
 * and members are counted before parsing. A `__proto__` member is refused, because a later `Object.assign`
 * would act on it. A whole number that JavaScript would round is refused, because two accounts would become
 * one.
 */
export const jsonCodec: Codec = jsonCodecOf('json', ({ value }) => {
  const rounded = findBigint(value)
  if (rounded !== null) throw new InexactNumber(roundedText(rounded), value)
  return value
})

/**
 * Like `jsonCodec`, with whole numbers beyond 2^53 as bigint. Smaller ones are numbers; a schema that needs
 * one type coerces.
 */
export const jsonBigintCodec: Codec = jsonCodecOf('json bigint', ({ value }) => value)

/**
 * Like `jsonCodec`, but rounds as `JSON.parse` does: for messages whose large numbers are measurements. No
 * identity may be read from such numbers.
 */
export const jsonRoundedCodec: Codec = jsonCodecOf('json rounded', null)

/** Passes the bytes through, for contracts that decode in the handler. */
export const bytesCodec: Codec = { name: 'bytes', decode: bytes => bytes }

/** `finish` makes a message from the value with all its digits; null: digits may be rounded. */
function jsonCodecOf(name: string, finish: ((exact: ExactJson) => unknown) | null): Codec {
  return {
    name,
    decode(bytes, limits) {
      const text = bytes.toString('utf8')
      // The decoder replaces invalid bytes by U+FFFD: only a text with that character is checked further.
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
  return `${where} is ${String(found).slice(0, 60)}, a whole number that a JavaScript number would round; send it as text, or set message.codec to jsonBigintCodec, or to jsonRoundedCodec if it may be rounded`
}

/** Written out, or hidden behind an escape. */
function mayNameProto(text: string): boolean {
  return text.includes('__proto__') || text.includes('\\u00')
}

function refuseProto<T>(key: string, value?: T): T | undefined {
  if (key === '__proto__') throw new SyntaxError('member "__proto__" is refused')
  return value
}

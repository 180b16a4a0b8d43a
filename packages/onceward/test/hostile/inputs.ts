import { gzipSync } from 'node:zlib'
import type { Codec, ConsumerContract, DeliveryProperties, HandlerContext } from 'onceward'
import { jsonRoundedCodec, park } from 'onceward'

export interface Anything {
  readonly id?: unknown
  readonly [name: string]: unknown
}

/** One hostile delivery and the end it must come to. */
export interface HostileInput {
  /** Row of the failure catalogue. */
  readonly row: number
  readonly what: string
  readonly body: Buffer
  readonly headers?: Readonly<Record<string, unknown>>
  readonly properties?: DeliveryProperties
  readonly contract?: Partial<ConsumerContract<Anything, unknown>>
  readonly ends: 'applied' | 'parked' | 'quarantined' | 'dead-lettered'
  readonly code?: string
}

type Case = Omit<HostileInput, 'row' | 'body'> & { readonly body: Buffer | string }
const rows = (row: number, ...cases: readonly Case[]): HostileInput[] =>
  cases.map(one => ({ ...one, row, body: Buffer.from(one.body) }))

const undecodable = { ends: 'quarantined', code: 'undecodable' } as const
const overLimit = { ends: 'quarantined', code: 'over_limit' } as const
const inexact = { ends: 'quarantined', code: 'inexact_number' } as const
const malformed = { ends: 'quarantined', code: 'id_malformed' } as const
const missing = { ends: 'quarantined', code: 'id_missing' } as const
const parked = {
  ends: 'parked',
  contract: {
    handle: ({ message }: HandlerContext<Anything, unknown>) =>
      message.id === 'good' ? undefined : park('look at it'),
  },
} as const

const facts = (m: Anything) => m.fact as string
const readsFacts = {
  identity: {
    id: (m: Anything) => m.id as string,
    correlationId: facts,
    type: facts,
    producer: facts,
    eventId: facts,
    schemaVersion: facts,
  },
}

function decodedBy(decode: Codec['decode']): Partial<ConsumerContract<Anything, unknown>> {
  const json = (bytes: Buffer) => JSON.parse(bytes.toString()) as unknown
  const codec: Codec = {
    name: 'hostile',
    decode: (bytes, limits, delivery) =>
      bytes.includes('good') ? json(bytes) : decode(bytes, limits, delivery),
  }
  return { message: { codec } }
}

function deep(levels: number): object {
  let value: object = {}
  for (let level = 0; level < levels; level++) value = { n: value }
  return value
}

const descend = (): never => descend()

export const hostileInputs: readonly HostileInput[] = [
  ...rows(
    78,
    { what: 'a string of one invalid byte', body: Buffer.from([0x22, 0xff, 0x22]), ...undecodable },
    { what: 'an overlong slash', body: Buffer.from([0x22, 0xc0, 0xaf, 0x22]), ...undecodable },
    {
      what: 'a surrogate written as UTF-8',
      body: Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]),
      ...undecodable,
    },
    { what: 'UTF-16 with its mark', body: Buffer.from('\ufeff{"id":"a"}', 'utf16le'), ...undecodable },
    {
      what: 'invalid bytes under an id in a property',
      body: Buffer.from([0xfe]),
      properties: { messageId: 'p' },
      contract: { identity: { id: (m: Anything, d) => (m?.id as string) ?? d.properties.messageId } },
      ...undecodable,
    },
  ),
  ...rows(
    79,
    { what: 'a raw NUL in the body', body: '{"id":"a\0"}', ...undecodable },
    { what: 'an escaped NUL in the id', body: '{"id":"a\\u0000b"}', ...malformed },
    { what: 'a lone surrogate in the id', body: '{"id":"\\ud800"}', ...malformed },
    {
      what: 'NUL and a lone surrogate in facts that are stored',
      body: '{"id":"a","fact":"x\\u0000y\\udfffz"}',
      ...parked,
      contract: { ...parked.contract, ...readsFacts },
    },
    {
      what: 'NUL, a lone surrogate and bytes in headers',
      body: '{"id":"a"}',
      headers: { nul: '\0', lone: '\ud800', bytes: Buffer.from([0, 255]), big: 2n ** 70n, '\0name': 1 },
      ...parked,
    },
    {
      what: 'NUL in properties and origin facts',
      body: '{"id":"a"}',
      properties: { correlationId: 'c\0', type: '\ud800', appId: '\0' },
      ...parked,
    },
  ),
  ...rows(
    80,
    { what: '65 levels', body: `{"id":"a","x":${'['.repeat(65)}${']'.repeat(65)}}`, ...undecodable },
    { what: 'half a million brackets', body: '['.repeat(500_000), ...undecodable },
    { what: 'half a million objects', body: '{"a":'.repeat(100_000), ...undecodable },
    { what: 'more members than allowed', body: `{"id":"a"${',"a":1'.repeat(100_000)}}`, ...undecodable },
    {
      what: 'brackets inside a string',
      body: JSON.stringify({ id: 'a', x: '['.repeat(100_000) }),
      ends: 'applied',
    },
    { what: 'headers nested 20,000 deep', body: '{"id":"a"}', headers: { deep: deep(20_000) }, ...overLimit },
    {
      what: 'a listed header nested 20,000 deep',
      body: '{"id":"a"}',
      headers: { deep: deep(20_000) },
      contract: { message: { digestHeaders: ['deep'] } },
      ...overLimit,
    },
  ),
  ...rows(
    81,
    {
      what: 'numbers no double can hold',
      body: '{"id":"a","n":9007199254740993,"big":1e400,"minus":-0,"long":0.1000000000000000055511151231257827}',
      ...inexact,
    },
    {
      what: 'the same under a codec that rounds',
      body: '{"id":"a","n":9007199254740993,"big":1e400,"minus":-0,"long":0.1000000000000000055511151231257827}',
      ends: 'parked',
      contract: { ...parked.contract, message: { codec: jsonRoundedCodec } },
    },
    {
      what: 'decimals no double can hold, where nothing counts them',
      body: '{"id":"a","big":1e400,"minus":-0,"long":0.1000000000000000055511151231257827}',
      ...parked,
    },
    { what: 'duplicate keys', body: '{"id":"x","id":"a"}', ...parked },
    { what: 'an id beyond 2⁵³', body: '{"id":9007199254740993}', ...inexact },
    {
      what: 'an id beyond 2⁵³ under a codec that rounds',
      body: '{"id":9007199254740993}',
      ...malformed,
      contract: { message: { codec: jsonRoundedCodec } },
    },
    { what: 'odd spacing and escapes', body: ' {\n"\\u0069d" : "a"\t} ', ...parked },
  ),
  ...rows(
    82,
    { what: 'a __proto__ member', body: '{"id":"a","__proto__":{"admin":true}}', ...undecodable },
    {
      what: 'a nested __proto__ in disguise',
      body: '{"id":"a","x":[{"\\u005f\\u005fproto\\u005f_":1}]}',
      ...undecodable,
    },
    {
      what: 'members named like inherited ones',
      body: '{"id":"a","constructor":1,"hasOwnProperty":2,"toString":3,"then":4}',
      ends: 'applied',
    },
    {
      what: 'facts that refuse to become text',
      body: '{"id":"a","fact":{"toString":1,"valueOf":1}}',
      contract: readsFacts,
      ends: 'applied',
    },
    { what: 'an id that refuses to become text', body: '{"id":{"toString":1,"valueOf":1}}', ...malformed },
    { what: 'a body that is null', body: 'null', ...missing },
    { what: 'a body that is a number', body: '7', ...missing },
  ),
  ...rows(
    83,
    { what: 'a body of 8 MB', body: Buffer.alloc(8 * 1024 * 1024, 0x20), ...overLimit },
    {
      what: 'a body one byte over the limit',
      body: Buffer.from(`{"id":"${'a'.repeat(93)}"}`),
      contract: { message: { limits: { bytesMax: 101 } } },
      ...overLimit,
    },
    {
      what: '101 headers',
      body: '{"id":"a"}',
      headers: Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`h${n}`, n])),
      ...overLimit,
    },
    { what: 'a header of 70 kB', body: '{"id":"a"}', headers: { h: 'x'.repeat(70_000) }, ...overLimit },
  ),
  ...rows(
    84,
    {
      what: 'a gzip bomb of 64 MB',
      body: gzipSync(`{"id":"a"${' '.repeat(64 * 1024 * 1024)}}`),
      properties: { contentEncoding: 'gzip' },
      ...undecodable,
    },
    {
      what: 'a truncated gzip',
      body: gzipSync('{"id":"a"}').subarray(0, 15),
      properties: { contentEncoding: 'gzip' },
      ...undecodable,
    },
    {
      what: 'plain bytes that claim to be gzip',
      body: '{"id":"a"}',
      properties: { contentEncoding: 'gzip' },
      ...undecodable,
    },
    {
      what: 'an unknown encoding',
      body: '{"id":"a"}',
      properties: { contentEncoding: 'x-lzma' },
      ...undecodable,
    },
  ),
  ...rows(
    85,
    {
      what: 'a codec that reads an absurd length',
      body: Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f]),
      contract: decodedBy(bytes => Buffer.alloc(bytes.readUInt32BE(1) * 4_096)),
      ...undecodable,
    },
    {
      what: 'a codec that recurses without end',
      body: Buffer.from([1]),
      contract: decodedBy(descend),
      ...undecodable,
    },
    {
      what: 'a codec that throws nothing useful',
      body: Buffer.from([2]),
      contract: decodedBy(() => {
        throw Object.create(null)
      }),
      ...undecodable,
    },
    {
      what: 'a codec that knows no such schema',
      body: Buffer.from([3]),
      contract: decodedBy(() => {
        throw new Error('unknown schema id 17')
      }),
      ...undecodable,
    },
  ),
  ...rows(
    86,
    { what: 'no id', body: '{"x":1}', ...missing },
    { what: 'a blank id', body: '{"id":"  "}', ...missing },
    { what: 'an id with a space in front', body: '{"id":" a"}', ...malformed },
    { what: 'an id with a line break', body: '{"id":"a\\nb"}', ...malformed },
    { what: 'an id of 3 kB', body: JSON.stringify({ id: 'x'.repeat(3_000) }), ends: 'applied' },
    { what: 'an id of 5 kB', body: JSON.stringify({ id: 'x'.repeat(5_000) }), ...malformed },
    { what: 'an id of quotes and backslashes', body: JSON.stringify({ id: `'"\\{},NULL` }), ends: 'applied' },
    { what: 'an id that is a list', body: '{"id":["a"]}', ...malformed },
  ),
]

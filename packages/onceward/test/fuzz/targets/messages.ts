import assert from 'node:assert/strict'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { defineConsumer, jsonBigintCodec, jsonCodec, jsonRoundedCodec } from 'onceward'
import { decompress } from '../../../src/message/decompress.ts'
import { exactJson } from '../../../src/message/exact-json.ts'
import { idText, readId, storableText } from '../../../src/message/identity.ts'
import { readIsoTime, utcText } from '../../../src/message/iso-time.ts'
import type { Limits } from '../../../src/message/limits.ts'
import { createMessageReader } from '../../../src/message/read-message.ts'
import { fromStoredJson, toStoredJson } from '../../../src/message/stored-json.ts'
import { deliveryOf } from '../../unit/received.ts'
import { orRefused, type Target } from '../target.ts'

const limits: Limits = {
  bytesMax: 1 << 20,
  depthMax: 32,
  keysMax: 1_000,
  headersMax: 100,
  headerBytesMax: 65_536,
  decompressedBytesMax: 1 << 18,
}
const delivery = deliveryOf('x')
const bodies = [
  '{"id":"a","n":1,"list":[1,2.5e3,-0,12345678901234567890,1e400],"deep":{"a":{"b":[[]]}}}',
  '"text \\u00e9 \\ud83d\\ude00"',
  '{"__proto__":1,"\\u005f_proto__":2}',
  '[9007199254740993,0.1000000000000000055511151231257827]',
]
const jsonWords = [
  '{',
  '}',
  '[',
  ']',
  ':',
  ',',
  '"',
  '\\u',
  'null',
  'true',
  '1e',
  '__proto__',
  '9007199254740993',
  '0.',
  '-',
]

const json: Target = {
  name: 'json bodies',
  kind: 'text',
  seeds: bodies,
  words: jsonWords,
  check(input) {
    const plain = plainly(input)
    for (const codec of [jsonCodec, jsonBigintCodec, jsonRoundedCodec]) {
      const read = orRefused(
        () => ({ value: codec.decode(input, limits, delivery) }),
        error => ['SyntaxError', 'TypeError', 'RangeError', 'InexactNumber', 'Error'].includes(error.name),
      )
      if (read === null) continue
      assert.notEqual(plain, null, `${codec.name} reads what is not JSON`)
      if (codec === jsonRoundedCodec) assert.deepEqual(read.value, plain!.value)
      // A number beyond all doubles is infinite in the message, and null in JSON.
      if (codec === jsonBigintCodec)
        assert.equal(JSON.stringify(JSON.parse(exactJson(read.value))), JSON.stringify(plain!.value))
    }
  },
}

function plainly(input: Buffer): { value: unknown } | null {
  try {
    return { value: JSON.parse(input.toString('utf8')) }
  } catch {
    return null
  }
}

interface Fuzzed {
  readonly id: string
  readonly key: string
  readonly order: string
  readonly type: string
}

const consumer = defineConsumer<Fuzzed, unknown>({
  name: 'fuzz',
  owner: 'fuzz',
  risk: 'low value',
  source: { kind: 'memory' },
  identity: { id: m => m.id, businessKey: m => m.key, orderKey: m => m.order, type: m => m.type },
  order: 'key',
  handle: () => {},
})
const reader = createMessageReader(consumer)

/** Any delivery is read, or is a problem with an outcome: the reader never throws. */
const messages: Target = {
  name: 'messages',
  kind: 'json',
  seeds: [
    {
      body: '{"id":"a","key":"k","order":"o","type":"t"}',
      headers: { h: 'v' },
      properties: { contentType: 'application/json' },
    },
    { body: '{"id":7}', headers: {}, properties: { contentEncoding: 'gzip', timestampMs: 1 } },
    { body: '', headers: { deep: { deep: { deep: {} } } }, properties: { tombstone: true } },
  ],
  words: [
    'id',
    'key',
    'order',
    'type',
    'body',
    'headers',
    'properties',
    'contentEncoding',
    'gzip',
    'br',
    'timestampMs',
    'tombstone',
    '{"id":"a"}',
  ],
  async check(input) {
    const { body, headers, properties } = record(plainly(input)!.value)
    const given = deliveryOf(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body ?? null)), {
      headers: record(headers),
      properties: record(properties),
    })
    const received = await reader(given)
    assert.equal(received.digest.length, 33)
    if (received.id !== null) assertStorable(received.id)
    if (!received.readable) assert.ok(received.problem.text.length > 0)
    else void received.envelope.id
  },
}

function record(value: unknown): Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? { ...value } : {}
}

function assertStorable(text: string): void {
  assert.ok(text.isWellFormed() && !text.includes('\0'), JSON.stringify(text))
}

const text = 'a text that is compressed, a text that is compressed'
const compressed: Target = {
  name: 'compressed bodies',
  kind: 'bytes',
  seeds: [gzipSync, deflateSync, brotliCompressSync].map((pack, index) =>
    Buffer.concat([Buffer.of(index), pack(text)]),
  ),
  check(input) {
    const encoding = ['gzip', 'deflate', 'br', 'identity', '', 'zstd', 'X-GZIP'][(input[0] ?? 0) % 7]
    const body = orRefused(
      () => decompress(input.subarray(1), encoding, limits),
      () => true,
    )
    if (body !== null) assert.ok(body.length <= limits.decompressedBytesMax || body.length < input.length)
  },
}

const stored: Target = {
  name: 'stored json',
  kind: 'json',
  seeds: [
    { a: 1, b: [1, 2.5], c: { $bytes: 'aGk=' }, d: null, e: 'text' },
    { x: { $bytes: 'aGk=', more: 1 }, y: 2 ** 53, z: { '!': 'int64', value: '1' } },
  ],
  words: ['$bytes', 'aGk=', '!', 'int64', 'value', '__proto__'],
  check(input) {
    const value = plainly(input)!.value
    if (value === null || typeof value !== 'object' || Array.isArray(value)) return
    const once = toStoredJson(fromStoredJson(toStoredJson(value)))
    assert.equal(toStoredJson(fromStoredJson(once)), once)
  },
}

const times: Target = {
  name: 'iso times',
  kind: 'text',
  seeds: ['2026-02-28T23:59:59.123456Z', '2024-02-29 00:00+05:30', '0001-01-01T00:00:00-15:59', '9999-12-31'],
  words: ['T', 'Z', '+', '-', ':', '.', '60', '24', '02', '29', '0000'],
  check(input) {
    const given = input.toString('utf8')
    const read = readIsoTime(given)
    if (typeof read === 'string') return void assert.ok(read.length > 0)
    const again = readIsoTime(`${utcText(read.ms)}Z`)
    assert.ok(typeof again !== 'string' && again.ms === Math.floor(read.ms / 1_000) * 1_000)
  },
}

const ids: Target = {
  name: 'message ids',
  kind: 'text',
  seeds: ['order-1', ' a', 'sha256:00', 'é', '\u0000', 'x'.repeat(250)],
  words: ['sha256:', ' ', '\u00a0', '\u0085'],
  check(input) {
    const given = input.toString('utf8')
    for (const value of [given, input, { '!': 'int64', value: given }, [given], Number(given)]) {
      const read = readId(value)
      if ('id' in read) assertStorable(read.id)
      else assert.ok(read.text.length > 0)
    }
    for (const kept of [idText(given), storableText(given, 20)]) if (kept !== null) assertStorable(kept)
  },
}

export const messageTargets = [json, messages, compressed, stored, times, ids]

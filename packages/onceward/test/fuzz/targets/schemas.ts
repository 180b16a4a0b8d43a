import assert from 'node:assert/strict'
import { deflateSync } from 'node:zlib'
import { ListValueSchema, StructSchema, ValueSchema } from '@bufbuild/protobuf/wkt'
import { avroCodec, jsonSchemaCodec, protobufCodec, type SchemaSource } from 'onceward/schema'
import type { Codec } from '../../../src/message/codec.ts'
import type { Limits } from '../../../src/message/limits.ts'
import { compileBounds } from '../../../src/schema/avro/avro-bounds.ts'
import { parseAvro } from '../../../src/schema/avro/avro-schema.ts'
import { avroType, loadAvsc } from '../../../src/schema/avro/load-avsc.ts'
import { jsonValidator } from '../../../src/schema/json/load-ajv.ts'
import { protoFileOf } from '../../../src/schema/protobuf/proto-file.ts'
import { messagesAt } from '../../../src/schema/protobuf/proto-outline.ts'
import type { RegisteredSchema } from '../../../src/schema/registered-schema.ts'
import { apicurioWire } from '../../../src/schema/wire/apicurio.ts'
import { confluentWire } from '../../../src/schema/wire/confluent.ts'
import { glueWire } from '../../../src/schema/wire/glue.ts'
import { isOverflow, orRefused, type Target } from '../target.ts'

const limits: Limits = {
  ...{ bytesMax: 1 << 16, depthMax: 32, keysMax: 1_000 },
  ...{ headersMax: 100, headerBytesMax: 65_536, decompressedBytesMax: 1 << 14 },
}

/** A mistake of the reader rather than of the bytes. */
const isMistake = ({ message }: Error) =>
  /is not a function|Cannot read prop|Cannot destructure|is not iterable|before initialization/.test(message)
const refused = (error: Error) => !isMistake(error)

/** `isRefusal`: for a library that looks for members of what has none before it refuses. */
async function orRefusedLater<T>(read: () => T | Promise<T>, isRefusal = refused): Promise<T | null> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof Error && !isOverflow(error) && isRefusal(error)) return null
    throw error
  }
}

const wires = [confluentWire, apicurioWire(), apicurioWire({ idBytes: 8 }), glueWire]
const guid = Buffer.from('0a0b0c0d000040008000000000000001', 'hex')

/** The first byte chooses the format, the second how many bytes of the rest are a header. */
const frames: Target = {
  name: 'schema frames',
  kind: 'bytes',
  seeds: [
    Buffer.from([0, 0, 0, 0, 0, 0, 7, 2, 104, 105]),
    Buffer.from([1, 0, 0, 0, 0, 0, 7, 4, 2, 4, 8, 1]),
    Buffer.concat([Buffer.of(0, 17, 1), guid, Buffer.from('payload')]),
    Buffer.concat([Buffer.of(6, 0, 3, 0), guid, Buffer.from('payload')]),
    Buffer.concat([Buffer.of(7, 0, 3, 5), guid, deflateSync('payload payload payload')]),
    Buffer.concat([Buffer.of(3, 8), Buffer.alloc(7), Buffer.of(9), Buffer.from('payload')]),
    Buffer.from([3, 0, 0, 0, 0, 0, 5, 8, 10, 3, 65, 66, 67, 68]),
  ],
  words: [Buffer.of(0), Buffer.of(1), Buffer.of(3, 5), Buffer.of(0xff, 0xff, 0xff, 0xff, 0x0f)],
  check(input) {
    const [choice = 0, length = 0] = input
    const wire = wires[(choice >> 1) % wires.length]!
    const protobuf = choice % 2 === 1
    const given = input.subarray(2, 2 + length)
    const names = ['__value_schema_id', 'apicurio.value.contentId', 'apicurio.value.globalId']
    const headers = length === 0 ? {} : Object.fromEntries(names.map(name => [name, given]))
    const body = input.subarray(2 + length)
    const bytesMax = 1 << 14
    const framed = orRefused(
      () => wire.read(body, { headers }, { protobuf, bytesMax }),
      error => error instanceof RangeError || /^(Z_|ERR_)/.test((error as { code?: string }).code ?? ''),
    )
    if (framed === null) return
    assert.ok(framed.payload.length <= Math.max(body.length, bytesMax))
    if (wire !== confluentWire || framed.ref.kind !== 'id') return
    const { payload, indexes, ref } = framed
    const written = confluentWire.write({ ids: { id: ref.id, guid: null }, payload, indexes })
    const again = confluentWire.read(written.body, { headers: {} }, { protobuf, bytesMax })
    assert.deepEqual(again, framed)
  },
}

const knowing = (type: RegisteredSchema['type'], texts: readonly string[]): SchemaSource => ({
  name: 'fuzz',
  async find(ref) {
    const text = ref.kind === 'id' ? texts[ref.id % texts.length]! : texts[0]!
    return { type, text, references: [] }
  },
})

const avroSchemas = [
  {
    type: 'record',
    name: 'Tree',
    fields: [
      { name: 'id', type: 'string' },
      { name: 'kind', type: { type: 'enum', name: 'Kind', symbols: ['A', 'B'] } },
      { name: 'hash', type: ['null', { type: 'fixed', name: 'Hash', size: 4 }] },
      { name: 'children', type: { type: 'array', items: 'Tree' } },
      { name: 'labels', type: { type: 'map', values: ['null', 'long', 'double', 'bytes'] } },
    ],
  },
  { type: 'array', items: { type: 'map', values: { type: 'array', items: 'null' } } },
]
const reader = { ...avroSchemas[0], fields: (avroSchemas[0] as { fields: unknown[] }).fields.slice(0, 2) }

/** The place of a schema, and its bytes. Resolves with what the codec reads. */
function decodeFramed(codec: Codec, input: Buffer): Promise<unknown> {
  const body = Buffer.concat([Buffer.of(0, 0, 0, 0, (input[0] ?? 0) % 4), input.subarray(1)])
  const delivery = { headers: {}, properties: {}, key: null }
  return orRefusedLater(() => codec.decode(body, limits, delivery))
}

const avroSource = knowing(
  'AVRO',
  avroSchemas.map(schema => JSON.stringify(schema)),
)
const avroCodecs = [
  avroCodec({ registry: avroSource }),
  avroCodec({ registry: avroSource, reader, longs: 'bigint' }),
]

const avroBodies: Target = {
  name: 'avro bodies',
  kind: 'bytes',
  seeds: [
    Buffer.from('000474726565'.slice(0, 12), 'hex'),
    Buffer.from([0, 4, 104, 105, 0, 2, 1, 2, 3, 4, 2, 2, 97, 2, 0, 0, 0, 2, 2, 107, 2, 14, 0]),
    Buffer.from([1, 2, 2, 2, 107, 4, 0, 0, 0]),
  ],
  words: [Buffer.of(0), Buffer.of(1), Buffer.of(2), Buffer.of(0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1)],
  async check(input) {
    for (const codec of avroCodecs) await decodeFramed(codec, input)
  },
}

/** A schema of a registry, and bytes that are walked by it. */
const avroDefinitions: Target = {
  name: 'avro schemas',
  kind: 'json',
  seeds: [...avroSchemas, 'string', ['null', { type: 'fixed', name: 'F', size: 3 }]] as (object | string)[],
  words: [
    ...['record', 'error', 'enum', 'fixed', 'array', 'map', 'items', 'values', 'fields', 'symbols', 'size'],
    ...['name', 'namespace', 'aliases', 'default', 'type', 'Tree', 'logicalType', 'decimal', '__proto__'],
  ],
  async check(input) {
    const schema: RegisteredSchema = { type: 'AVRO', text: input.toString('utf8'), references: [] }
    const bounds = await orRefusedLater(() => {
      const { schema: parsed, named } = parseAvro(schema)
      return compileBounds(parsed, named)
    })
    const avsc = await loadAvsc()
    const type = await orRefusedLater(
      () => avroType(avsc, schema, {}),
      () => true,
    )
    if (bounds === null || type === null) return
    const bytes = input.subarray(0, 64)
    const isWithin = await orRefusedLater(() => bounds(bytes, limits) ?? true)
    if (isWithin !== null)
      await orRefusedLater(
        () => type.fromBuffer(bytes),
        () => true,
      )
  },
}

const protoText = `syntax = "proto3";
package google.protobuf;
message Struct { map<string, Value> fields = 1; }
message Value { oneof kind { NullValue null_value = 1; double number_value = 2; string string_value = 3; bool bool_value = 4; Struct struct_value = 5; ListValue list_value = 6; } }
message ListValue { repeated Value values = 1; }
enum NullValue { NULL_VALUE = 0; }
`
const messages = [StructSchema, ValueSchema, ListValueSchema]
const protoCodec = protobufCodec({ registry: knowing('PROTOBUF', [protoText]), messages })

const protobufBodies: Target = {
  name: 'protobuf bodies',
  kind: 'bytes',
  seeds: [
    Buffer.from([0, 0, 10, 8, 10, 1, 97, 18, 3, 26, 1, 98]),
    Buffer.from([0, 2, 2, 42, 2, 10, 0]),
    Buffer.from([0, 2, 4, 10, 2, 32, 1, 10, 4, 50, 2, 10, 0]),
  ],
  words: [
    Buffer.of(10),
    Buffer.of(42),
    Buffer.of(50),
    Buffer.of(0xff, 0xff, 0xff, 0xff, 0x0f),
    Buffer.of(11),
  ],
  async check(input) {
    await decodeFramed(protoCodec, input)
  },
}

const protoFiles: Target = {
  name: 'proto files',
  kind: 'text',
  seeds: [
    protoText,
    'CgdhLnByb3RvEgFhIgMKAUI=',
    'message A { message B { map<string, B> m = 1; } enum C { D = 0; } }',
  ],
  words: [
    ...['message ', 'enum ', 'package ', 'map<', 'oneof ', 'option ', 'reserved ', 'extend ', 'repeated '],
    ...['{', '}', ';', '=', '//', '/*', '*/', '"', "'", '\\', '<', '>', ',', '.'],
  ],
  async check(input) {
    const file = await orRefusedLater(() => protoFileOf(input.toString('utf8')))
    if (file === null) return
    for (const indexes of [[0], [1], [0, 0], [63, 1]])
      for (const { fullName } of messagesAt(file, indexes)) assert.equal(typeof fullName, 'string')
  },
}

/** A schema of a registry with values to be valid by it. */
const jsonSchemas: Target = {
  name: 'json schemas',
  kind: 'json',
  seeds: [
    { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
    {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      $defs: { a: { type: 'string' } },
      $ref: '#/$defs/a',
    },
    { anyOf: [{ minimum: 1 }, { enum: ['a', null] }], additionalProperties: false, minItems: 2 },
  ],
  words: [
    ...[
      '$ref',
      '#',
      '#/',
      '$defs',
      '$id',
      '$anchor',
      '$dynamicRef',
      '$schema',
      '2019-09',
      '2020-12',
      'allOf',
    ],
    ...['type', 'properties', 'items', 'required', 'not', 'if', 'then', 'const', 'maximum', 'uniqueItems'],
  ],
  async check(input) {
    const text = input.toString('utf8')
    const validate = await orRefusedLater(
      () => jsonValidator({ type: 'JSON', text, references: [] }),
      ({ message }) => message !== "Cannot read properties of null (reading '$schema')",
    )
    if (validate === null) return
    const codec = jsonSchemaCodec({ registry: knowing('JSON', [text]) })
    await decodeFramed(codec, Buffer.from(' {"id":"a","list":[1,2]}'))
  },
}

export const schemaTargets = [frames, avroBodies, avroDefinitions, protobufBodies, protoFiles, jsonSchemas]

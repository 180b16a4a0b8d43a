import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { create, createFileRegistry, type DescMessage } from '@bufbuild/protobuf'
import {
  DescriptorProtoSchema,
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from '@bufbuild/protobuf/wkt'
import { realEnvironment } from 'onceward'
import { topic } from 'onceward/kafka'
import { avroCodec, confluentRegistry, jsonSchemaCodec, protobufCodec } from 'onceward/schema'
import type { Codec } from '../../src/message/codec.ts'
import { checkSchemas } from '../../src/review/live/schema.ts'
import { RegistryServer } from '../schema/registry-server.ts'
import { consumerWith } from './contract-pairs.ts'

const server = new RegistryServer()
before(() => server.start())
after(() => server.stop())

const registry = () => confluentRegistry({ url: server.url })
const field = (name: string, type: unknown, more: object = {}) => ({ name, type, ...more })
const record = (...fields: readonly object[]) => ({ type: 'record', name: 'Payment', fields })

async function findings(
  origin: string,
  codec: Codec,
  nextSchema?: string | object,
): Promise<readonly string[]> {
  const consumer = consumerWith({ source: topic(origin), message: { codec } } as never)
  const next = typeof nextSchema === 'string' ? nextSchema : JSON.stringify(nextSchema)
  const access = { env: realEnvironment(), wallMs: Date.now, timeoutMs: 5_000 }
  const found = await checkSchemas(
    [{ file: 'a.ts', consumer }],
    nextSchema === undefined ? access : { ...access, nextSchema: Buffer.from(next) },
  )
  return found.map(({ id, found }) => `${id} ${found}`)
}

describe('check --live on a schema registry', () => {
  test('finds versions that the consumer cannot read, until it has a default', async () => {
    server.add('avro-value', record(field('id', 'string')))
    server.add('avro-value', record(field('id', 'string'), field('cents', 'long')))
    const reader = record(field('id', 'string'), field('cents', 'long'))
    const bad = await findings('avro', avroCodec({ registry: registry(), reader }))
    assert.match(bad.join(), /^OW601 version 1 of avro-value: .*cents/)
    assert.equal(bad.length, 1)
    const good = record(field('id', 'string'), field('cents', 'long', { default: 0 }))
    assert.deepEqual(await findings('avro', avroCodec({ registry: registry(), reader: good })), [])
  })

  test('finds a next version that the consumer cannot read, or the registry refuses', async () => {
    server.add('next-value', record(field('id', 'string')))
    const codec = avroCodec({ registry: registry(), reader: record(field('id', 'string')) })
    assert.deepEqual(await findings('next', codec, record(field('id', 'string'), field('n', 'int'))), [])
    const other = record(field('id', 'int'))
    assert.match(
      (await findings('next', codec, other)).join(),
      /^OW602 the next version of next-value: .*cannot read/,
    )
    const refused = record(field('id', 'string'), field('m', 'int'))
    server.refusedSchemas.add(JSON.stringify(refused))
    assert.match((await findings('next', codec, refused)).join(), /^OW603 .*READER_FIELD_MISSING/)
  })

  test('says when nothing can be compared', async () => {
    const asWritten = avroCodec({ registry: registry() })
    assert.match(
      (await findings('avro', asWritten)).join(),
      /^OW604 avro-value: the codec has no reader schema/,
    )
    assert.match((await findings('avro', asWritten, record())).join(), /^OW602 .*was not compared/)
    const codec = avroCodec({ registry: registry(), reader: record(field('id', 'string')) })
    assert.match((await findings('nowhere', codec)).join(), /^OW604 nowhere-value: the subject is unknown/)
  })

  test('a registry that does not answer is an error', async () => {
    const away = confluentRegistry({ url: 'http://127.0.0.1:1' })
    const codec = avroCodec({ registry: away, reader: record(field('id', 'string')) })
    assert.match((await findings('avro', codec)).join(), /^OW901 /)
  })

  test('subjects follow the strategy', async () => {
    server.add('shop.Payment', { ...record(field('id', 'int')), namespace: 'shop' })
    server.add('t-shop.Payment', { ...record(field('id', 'long')), namespace: 'shop' })
    const reader = { ...record(field('id', 'string')), namespace: 'shop' }
    for (const [subject, name] of [
      ['record', 'shop.Payment'],
      ['topic-record', 't-shop.Payment'],
      [{ name: 'shop.Payment' }, 'shop.Payment'],
    ] as const) {
      const found = await findings('t', avroCodec({ registry: registry(), reader, subject }))
      assert.ok(found.join().startsWith(`OW601 version 1 of ${name}: `), found.join())
    }
  })

  test('JSON Schema: differences that are certain', async () => {
    const properties = { id: { type: 'string' }, n: { type: 'integer' }, s: { enum: ['a', 'b'] } }
    const written = { type: 'object', properties, required: ['id'] }
    server.add('json-value', written, { schemaType: 'JSON' })
    const codec = (reader: object) => jsonSchemaCodec({ registry: registry(), reader })
    const of = async (reader: object) => (await findings('json', codec(reader))).join()
    assert.equal(await of(written), '')
    assert.equal(await of({ type: 'object', properties: { n: { type: 'number' } } }), '')
    assert.match(await of({ ...written, required: ['id', 'n'] }), /may lack "n"/)
    assert.match(await of({ properties: { id: { type: 'integer' } } }), /\/id may be string/)
    assert.match(await of({ properties: { s: { enum: ['a'] } } }), /\/s may be "b"/)
    assert.match(await of({ properties: { id: {} }, additionalProperties: false }), /may have "n"/)
  })

  test('Protobuf: kinds of fields, repeated ones and missing messages', async () => {
    const message = protoMessage()
    const codec = protobufCodec({ registry: registry(), messages: [message] })
    const of = async (name: string, body: string) => {
      server.add(`${name}-value`, `syntax = "proto3"; package shop; ${body}`, { schemaType: 'PROTOBUF' })
      return (await findings(name, codec)).join()
    }
    const rest = 'message Line { int64 n = 1; }'
    assert.equal(await of('same', `message Payment { string id = 1; repeated Line lines = 2; } ${rest}`), '')
    assert.equal(await of('added', `message Payment { bytes id = 1; map<string, int32> x = 9; } ${rest}`), '')
    assert.match(
      await of('kind', `message Payment { int32 id = 1; }`),
      /field 1 of shop.Payment was written as int32/,
    )
    assert.match(
      await of('inner', `message Payment { repeated Line lines = 2; message Line { string n = 1; } }`),
      /field 1 of shop.Payment.Line was written as string/,
    )
    assert.match(await of('often', `message Payment { repeated string id = 1; }`), /several times/)
    assert.match(await of('gone', `message Other { string id = 1; }`), /no message shop.Payment/)
    assert.match(await of('broken', `message Payment {`), /brace/)
  })
})

function protoMessage(): DescMessage {
  const { STRING, INT64, MESSAGE } = FieldDescriptorProto_Type
  const { OPTIONAL, REPEATED } = FieldDescriptorProto_Label
  const line = create(DescriptorProtoSchema, {
    name: 'Line',
    field: [{ name: 'n', jsonName: 'n', number: 1, type: INT64, label: OPTIONAL }],
  })
  const payment = create(DescriptorProtoSchema, {
    name: 'Payment',
    field: [
      { name: 'id', jsonName: 'id', number: 1, type: STRING, label: OPTIONAL },
      { name: 'lines', jsonName: 'lines', number: 2, type: MESSAGE, label: REPEATED, typeName: '.shop.Line' },
    ],
  })
  const file = create(FileDescriptorProtoSchema, {
    name: 'p.proto',
    package: 'shop',
    syntax: 'proto3',
    messageType: [payment, line],
  })
  return createFileRegistry(create(FileDescriptorSetSchema, { file: [file] })).getMessage('shop.Payment')!
}

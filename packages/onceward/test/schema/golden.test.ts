import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { create, createFileRegistry, type DescMessage, fromBinary, toJson } from '@bufbuild/protobuf'
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import { withDefaults } from '../../src/contract/options/defaults.ts'
import type { Codec } from '../../src/message/codec.ts'
import {
  avroCodec,
  avroEncoder,
  confluentHeaderWire,
  confluentRegistry,
  confluentWire,
  jsonSchemaCodec,
  jsonSchemaEncoder,
  protobufCodec,
  protobufEncoder,
} from '../../src/schema/index.ts'
import { RegistryServer } from './registry-server.ts'

interface Case {
  readonly name: string
  readonly type: 'AVRO' | 'JSON' | 'PROTOBUF'
  readonly subject: string
  readonly id: number
  readonly guid: string
  readonly schema: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly value: unknown
}

const defaultLimits = withDefaults('message.limits', {})
const golden = JSON.parse(readFileSync(new URL('golden.json', import.meta.url), 'utf8'))
const cases: readonly Case[] = golden.cases
const file = fromBinary(FileDescriptorProtoSchema, Buffer.from(golden.protoFile, 'base64'))
const files = createFileRegistry(create(FileDescriptorSetSchema, { file: [file] }))
const messages = ['shop.Refund', 'shop.Parcel', 'shop.Parcel.Item'].map(name => files.getMessage(name)!)
const server = new RegistryServer()

before(async () => {
  await server.start()
  for (const { subject, schema, type: schemaType, id, guid } of cases)
    server.add(subject, schema, { schemaType, id, guid })
})
after(() => server.stop())

const plain = (value: unknown, message?: DescMessage) =>
  JSON.parse(JSON.stringify(message === undefined ? value : toJson(message, value as never)))
const messageOf = (value: unknown) =>
  messages.find(({ typeName }) => typeName === (value as { $typeName: string }).$typeName)

const codecs: Record<Case['type'], () => Codec> = {
  AVRO: () => avroCodec({ registry: confluentRegistry({ url: server.url }) }),
  JSON: () => jsonSchemaCodec({ registry: confluentRegistry({ url: server.url }) }),
  PROTOBUF: () => protobufCodec({ registry: confluentRegistry({ url: server.url }), messages }),
}

describe(`bytes of ${golden.serializers}`, () => {
  for (const { name, type, headers, body, value } of cases)
    test(`${name}: are read as they were meant`, async () => {
      const bytes = Object.entries(headers).map(([key, text]) => [key, Buffer.from(text, 'base64')])
      const delivery = { headers: Object.fromEntries(bytes), properties: {}, key: null }
      const read = await codecs[type]().decode(Buffer.from(body, 'base64'), defaultLimits, delivery)
      assert.deepEqual(plain(read, type === 'PROTOBUF' ? messageOf(read) : undefined), value)
    })

  for (const { name, type, subject, headers, schema, body, value } of cases)
    test(`${name}: are written byte by byte`, async () => {
      const registry = confluentRegistry({ url: server.url })
      const wire = Object.keys(headers).length > 0 ? confluentHeaderWire : confluentWire
      const options = { registry, wire, registration: 'lookup', subject: { name: subject } } as const
      const message = messages.find(({ name }) => name === protobufNames[subject])!
      const encoder =
        type === 'AVRO'
          ? avroEncoder({ ...options, schema })
          : type === 'JSON'
            ? jsonSchemaEncoder({ ...options, schema })
            : protobufEncoder({ ...options, schema, message })
      const given = type === 'PROTOBUF' ? withLongs(value) : value
      const written = await encoder.encode(given, place)
      assert.equal(Buffer.from(written.body).toString('base64'), type === 'JSON' ? jsonOf(body) : body)
      const sent = Object.entries(written.headers ?? {}).map(([key, bytes]) => [
        key,
        Buffer.from(bytes as Uint8Array).toString('base64'),
      ])
      assert.deepEqual(Object.fromEntries(sent), headers)
    })
})

const place = { broker: 'kafka', topic: 'payments', id: 'm-1', type: undefined, key: null } as const
const protobufNames: Record<string, string> = {
  'refunds-value': 'Refund',
  'parcels-value': 'Parcel',
  'items-value': 'Item',
}

/** The same text: Python writes no spaces here either, so only a difference would show. */
const jsonOf = (body: string) => body

function withLongs(value: unknown): unknown {
  const { cents, ...rest } = value as { cents?: string }
  return { ...rest, ...(cents !== undefined && { cents: BigInt(cents) }) }
}

import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { deflateSync } from 'node:zlib'
import avsc from 'avsc'
import fc from 'fast-check'
import { defineConsumer } from 'onceward'
import {
  apicurioRegistry,
  apicurioWire,
  avroCodec,
  confluentRegistry,
  confluentWire,
  glueWire,
  type SchemaSource,
  type WireFormat,
} from 'onceward/schema'
import { withDefaults } from '../../src/contract/options/defaults.ts'
import { createMessageReader } from '../../src/message/read-message.ts'
import { refText } from '../../src/schema/schema-ref.ts'
import { RegistryServer } from './registry-server.ts'

const limits = withDefaults('message.limits', {})
const delivery = { headers: {}, properties: {}, key: null }
const job = { type: 'record', name: 'Job', fields: [{ name: 'id', type: 'string' }] } as const
const jobBytes = avsc.Type.forSchema(job as never).toBuffer({ id: 'j' })
const guid = '0a0b0c0d-0000-4000-8000-000000000001'
const framed = (payload: Uint8Array, id = 1) => {
  const prefix = Buffer.alloc(5)
  prefix.writeUInt32BE(id, 1)
  return Buffer.concat([prefix, payload])
}

/** A source that knows one schema under every reference. */
const knowing = (schema: unknown): SchemaSource => ({
  name: 'test',
  find: async () => ({ type: 'AVRO', text: JSON.stringify(schema), references: [] }),
})

/** What the reader of a consumer makes of one delivery; the reader never throws. */
async function readBy(
  registry: SchemaSource,
  body: Buffer,
  wire: WireFormat = confluentWire,
  timeoutMs = 30_000,
) {
  const consumer = defineConsumer<{ id: string }>({
    name: 'hostile',
    owner: 'tests',
    risk: 'low value',
    source: { kind: 'memory' },
    message: { codec: avroCodec({ registry, wire, timeoutMs }) },
    identity: { id: (m: { id: string }) => m.id },
    handle: async () => {},
  } as never)
  const received = await createMessageReader(consumer)({
    ...{
      body,
      headers: {},
      properties: {},
      origin: 'q',
      position: null,
      partition: '',
      place: null,
      key: null,
    },
    ...{ redelivered: false, deliveryCount: 0, token: null },
  } as never)
  return received.readable ? `read ${received.id}` : `${received.problem.kind}: ${received.problem.text}`
}

describe('references to schemas', () => {
  test('Apicurio: ids of 4 and 8 bytes, and the headers', async () => {
    const eight = Buffer.concat([Buffer.of(0, 0, 0, 0, 0, 0, 0, 0, 9), jobBytes])
    const four = framed(jobBytes, 9)
    const long = Buffer.alloc(8)
    long.writeBigInt64BE(9n)
    const options = { protobuf: false, bytesMax: 1_000 }
    assert.deepEqual(apicurioWire().read(four, delivery, options).ref, { kind: 'contentId', id: 9n })
    assert.deepEqual(apicurioWire({ idBytes: 8 }).read(eight, delivery, options).ref, {
      kind: 'globalId',
      id: 9n,
    })
    const inHeader = {
      headers: { 'apicurio.value.globalId': long, 'apicurio.value.encoding': Buffer.from('BINARY') },
    }
    const read = apicurioWire().read(jobBytes, inHeader, options)
    assert.deepEqual([read.ref, read.payload], [{ kind: 'globalId', id: 9n }, jobBytes])
    const named = Buffer.concat([framed(Buffer.of(5, 10, 3, 74, 111, 98), 9), jobBytes])
    const protobuf = apicurioWire().read(named, delivery, { ...options, protobuf: true })
    assert.deepEqual([protobuf.messageName, protobuf.payload], ['Job', jobBytes])
  })

  test('Glue: plain and packed', async () => {
    const head = (compression: number) =>
      Buffer.concat([Buffer.of(3, compression), Buffer.from(guid.replaceAll('-', ''), 'hex')])
    const source = knowing(job)
    assert.equal(await readBy(source, Buffer.concat([head(0), jobBytes]), glueWire), 'read j')
    assert.equal(await readBy(source, Buffer.concat([head(5), deflateSync(jobBytes)]), glueWire), 'read j')
    assert.match(
      await readBy(source, Buffer.concat([head(9), jobBytes]), glueWire),
      /undecodable.*compression 9/,
    )
    const long = avsc.Type.forSchema(job as never).toBuffer({ id: 'j'.repeat(17 * 1024 * 1024) })
    const bomb = deflateSync(long)
    assert.match(await readBy(source, Buffer.concat([head(5), bomb]), glueWire), /^undecodable/)
  })

  for (const [name, body, wire] of [
    ['no bytes', Buffer.alloc(0), confluentWire],
    ['half a reference', Buffer.of(0, 0, 0), confluentWire],
    ['another first byte', Buffer.of(7, 0, 0, 0, 1), confluentWire],
    ['half a GUID', Buffer.of(1, 2, 3, 4, 5), confluentWire],
    ['a negative id', Buffer.concat([Buffer.of(0), Buffer.alloc(8, 255)]), apicurioWire({ idBytes: 8 })],
    ['half a header of Glue', Buffer.of(3, 0, 1), glueWire],
  ] as const)
    test(`${name}: undecodable`, async () => {
      assert.match(await readBy(knowing(job), body, wire), /^undecodable/)
    })

  test('indexes of Protobuf messages: huge, negative and without an end are refused', () => {
    const read = (...bytes: number[]) =>
      confluentWire.read(framed(Buffer.from(bytes)), delivery, { protobuf: true, bytesMax: 1 })
    assert.deepEqual(read(0).indexes, [0])
    assert.deepEqual(read(4, 2, 6).indexes, [1, 3])
    assert.throws(() => read(1), /-1 message indexes/)
    assert.throws(() => read(4, 1, 0), /message index -1/)
    assert.throws(() => read(0xfe, 0xff, 0xff, 0xff, 0x0f), /message indexes/)
    assert.throws(() => read(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1), /more than 32 bits/)
    assert.throws(() => read(4, 2), /after the last byte/)
  })
})

describe('hostile Avro', () => {
  const many = [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01]
  const list = (items: unknown) => ({
    type: 'record',
    name: 'L',
    fields: [{ name: 'id', type: { type: 'array', items } }],
  })
  const deep = { type: 'record', name: 'Job', fields: [{ name: 'id', type: ['null', 'Job'] }] }
  for (const [name, schema, payload] of [
    ['2^48 items without a byte', list('null'), many],
    ['2^48 items', list('long'), many],
    ['a text longer than the message', job, [0x80, 0x80, 0x80, 0x01]],
    ['a text of negative length', job, [1]],
    ['an unknown branch', deep, [8]],
    ['nesting without an end', deep, Array.from({ length: 50_000 }, () => 2)],
    ['bytes after the end', job, [2, 97, 0, 0]],
  ] as const)
    test(`${name}: undecodable, at once`, async () => {
      assert.match(await readBy(knowing(schema), framed(Buffer.from(payload))), /^undecodable/)
    })

  for (const [name, schema] of [
    ['nested a thousand deep', nested(1_000)],
    ['of a hundred thousand fields', wide(100_000)],
    ['that is no schema', { type: 'record' }],
    ['with a field named __proto__', { ...job, fields: [{ name: '__proto__', type: 'string' }] }],
    ['that names an unknown type', 'Nowhere'],
  ] as const)
    test(`a schema ${name}: undecodable`, async () => {
      assert.match(await readBy(knowing(schema), framed(jobBytes)), /^undecodable/)
    })

  test('a recursive schema is read', async () => {
    const node = {
      type: 'record',
      name: 'Node',
      fields: [
        { name: 'id', type: 'string' },
        { name: 'next', type: ['null', 'Node'] },
      ],
    }
    const bytes = avsc.Type.forSchema(node as never).toBuffer({ id: 'n', next: { id: 'm', next: null } })
    assert.equal(await readBy(knowing(node), framed(bytes)), 'read n')
  })

  test('the walk of the bytes accepts what avsc writes, and never throws another error', async () => {
    const schema = {
      type: 'record',
      name: 'R',
      fields: [
        { name: 'id', type: 'string' },
        { name: 'u', type: ['null', 'double', { type: 'map', values: 'boolean' }] },
        { name: 'a', type: { type: 'array', items: { type: 'fixed', name: 'F', size: 2 } } },
      ],
    }
    const type = avsc.Type.forSchema(schema as never)
    for (let round = 0; round < 50; round++) {
      const id = `r${round}`
      const value = { ...(type.random() as object), id }
      assert.equal(await readBy(knowing(schema), framed(type.toBuffer(value))), `read ${id}`)
    }
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 60 }), async bytes => {
        assert.match(await readBy(knowing(schema), framed(bytes)), /^(read|undecodable|id )/)
      }),
      { numRuns: 200 },
    )
  })
})

describe('a registry', () => {
  const server = new RegistryServer()
  let folder: string
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'onceward-registry-'))
    await server.start()
    server.add('jobs-value', job)
  })
  after(async () => {
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  })
  const source = (more: object = {}) => confluentRegistry({ url: server.url, ...more })
  const during = async (
    intervene: RegistryServer['intervene'],
    expected: RegExp,
    more: object = {},
    timeoutMs?: number,
  ) => {
    server.intervene = intervene
    try {
      assert.match(await readBy(source(more), framed(jobBytes), confluentWire, timeoutMs), expected)
    } finally {
      server.intervene = () => null
    }
  }

  test('that does not answer in time is unavailable', () =>
    during(() => 'silence', /^registry unavailable.*no answer in 300 ms/, {}, 300))
  test('that sends 5 MB has no usable schema', () =>
    during(() => Buffer.alloc(5 * 1024 * 1024, 97), /^unknown schema.*more than 1048576 bytes/))
  test('whose answer is not JSON is unavailable', () =>
    during(() => Buffer.from('<html>'), /^registry unavailable.*without JSON/))
  test('that answers 404 without an error code is unavailable', () =>
    during(() => ({ status: 404, body: 'nothing here' }), /^registry unavailable.*404/))
  test('that answers without a schema is unavailable', () =>
    during(() => ({ status: 200, body: { schema: 5 } }), /^registry unavailable.*without a schema/))
  test('that fails is unavailable', () =>
    during(() => ({ status: 500, body: {} }), /^registry unavailable.*500/))
  test('that refuses the login is unavailable, and requests carry the login', async () => {
    server.authorization = `Basic ${Buffer.from('ann:secret').toString('base64')}`
    await during(() => null, /^registry unavailable.*refused the login/)
    await during(() => null, /^read j/, { auth: { username: 'ann', password: 'secret' } })
    server.authorization = 'Bearer t'
    await during(() => null, /^read j/, { auth: { token: () => 't' } })
    server.authorization = null
  })

  /** Codes of reading one message six times, while the registry answers so. */
  const codesOf = async (
    intervene: RegistryServer['intervene'],
    registry: SchemaSource = source(),
    timeoutMs = 30_000,
  ) => {
    const wire = registry.name.includes('apicurio') ? apicurioWire() : confluentWire
    const codec = avroCodec({ registry, wire, timeoutMs, unknownForMs: 0 })
    const codes: unknown[] = []
    server.intervene = intervene
    for (let round = 0; round < 6; round++)
      await (codec.decode(framed(jobBytes), limits, delivery) as Promise<unknown>).catch(error =>
        codes.push(error.code),
      )
    server.intervene = () => null
    return codes
  }
  const unavailable = 'registry_unavailable'
  const blamed = [...Array(4).fill(unavailable), 'schema_unknown', 'schema_unknown']
  const forId = (answer: ReturnType<RegistryServer['intervene']>) => (path: string) =>
    path.includes('/ids/') ? answer : null

  for (const [name, answer] of [
    ['with 500', { status: 500, body: {} }],
    ['with 400', { status: 400, body: { error_code: 400 } }],
    ['with a 404 of another server', { status: 404, body: 'nothing here' }],
    ['with an unknown type', { status: 200, body: { schema: '{}', schemaType: 'XML' } }],
    ['with no JSON', Buffer.from('<html>')],
  ] as const)
    test(`that answers ${name} for one schema only makes that schema unknown in the end`, async () => {
      assert.deepEqual(await codesOf(forId(answer)), blamed)
    })
  test('that is silent for one schema only makes that schema unknown in the end', async () => {
    // Not by the server: a process that is stopped for a moment would get no answer to the second question.
    const find = () => new Promise<never>(() => {})
    const registry = { name: 'silent', find, answers: async () => true }
    assert.deepEqual(await codesOf(() => null, registry, 100), blamed)
  })
  test('of Apicurio that fails for one schema only makes that schema unknown in the end', async () => {
    const registry = { ...apicurioRegistry({ url: server.url }), name: 'apicurio' }
    const answers = (path: string) =>
      path.endsWith('/system/info') ? { status: 200, body: {} } : { status: 500, body: {} }
    assert.deepEqual(await codesOf(answers, registry), blamed)
  })
  test('of another kind that fails for one schema only makes that schema unknown in the end', async () => {
    let alive = true
    const find: SchemaSource['find'] = async ref => {
      if (!alive || refText(ref) === 'id 1') throw new Error('failed')
      return knowing(job).find(ref, AbortSignal.abort())
    }
    const codec = avroCodec({ registry: { name: 'own', find }, unknownForMs: 0 })
    const read = async (id: number) =>
      Promise.resolve(codec.decode(framed(jobBytes, id), limits, delivery)).then(
        () => 'read',
        error => error.code,
      )
    const times = async (count: number) => {
      const codes: unknown[] = []
      for (let time = 0; time < count; time++) codes.push(await read(1))
      return codes
    }
    assert.deepEqual(await times(6), Array(6).fill(unavailable), 'nothing else was answered')
    assert.equal(await read(2), 'read')
    alive = false
    assert.deepEqual(await times(1), [unavailable], 'it does not answer')
    alive = true
    assert.deepEqual(await times(1), ['schema_unknown'])
  })
  for (const status of [401, 403, 429, 503])
    test(`that answers ${status} ${status === 503 ? 'to all' : 'for one schema'} is unavailable until it answers`, async () => {
      const answer = { status, body: {} }
      assert.deepEqual(
        await codesOf(status === 503 ? () => answer : forId(answer)),
        Array(6).fill(unavailable),
      )
    })
  test('without a connection is unavailable until it has one', async () => {
    const gone = await new RegistryServer().start()
    await gone.stop()
    const registry = confluentRegistry({ url: gone.url })
    const name = registry.name
    const find: SchemaSource['find'] = (ref, signal) => registry.find(ref, signal)
    const codes = await codesOf(() => null, { name, find, answers: async () => true })
    assert.deepEqual(codes, Array(6).fill(unavailable))
  })

  test('is asked once for a schema, by many messages', async () => {
    const codec = avroCodec({ registry: source() })
    const before = server.requests.length
    await Promise.all(Array.from({ length: 50 }, () => codec.decode(framed(jobBytes), limits, delivery)))
    assert.equal(server.requests.length, before + 1)
    assert.deepEqual(
      { ...(codec.decode(framed(jobBytes), limits, delivery) as object) },
      { id: 'j' },
      'and at once',
    )
  })

  test('follows references, also in a circle', async () => {
    const user = { type: 'record', name: 'User', fields: [{ name: 'id', type: 'string' }] }
    server.add('user', user, { id: 50, references: [{ name: 'User', subject: 'user', version: 1 }] as never })
    const order = {
      type: 'record',
      name: 'Order',
      fields: [
        { name: 'id', type: 'string' },
        { name: 'by', type: 'User' },
      ],
    }
    server.add('order', order, {
      id: 51,
      references: [{ name: 'User', subject: 'user', version: 1 }] as never,
    })
    const type = avsc.Type.forSchema({
      ...order,
      fields: [order.fields[0], { name: 'by', type: user }],
    } as never)
    assert.equal(await readBy(source(), framed(type.toBuffer({ id: 'o', by: { id: 'u' } }), 51)), 'read o')
  })

  test('with another schema under a known id is noticed', async () => {
    const read = (timeoutMs = 30_000) =>
      Promise.resolve(
        avroCodec({ registry: source(), cacheFolder: folder, timeoutMs }).decode(
          framed(jobBytes),
          limits,
          delivery,
        ),
      ).then(
        value => ({ ...(value as object) }),
        error => error.code,
      )
    assert.deepEqual(await read(), { id: 'j' })
    server.intervene = () => ({ status: 200, body: { schema: '"string"' } })
    assert.equal(await read(), 'schema_unknown')
    server.intervene = () => 'silence'
    assert.deepEqual(await read(200), { id: 'j' }, 'without an answer the folder counts')
    const [registry] = await readdir(folder)
    const [file] = await readdir(join(folder, registry!))
    const whole = await readFile(join(folder, registry!, file!), 'utf8')
    for (const damaged of ['', '{', '[]', whole.replace('Job', 'Jab')]) {
      await writeFile(join(folder, registry!, file!), damaged)
      assert.equal(await read(200), 'registry_unavailable', damaged)
    }
    server.intervene = () => null
    assert.deepEqual(await read(), { id: 'j' })
    assert.deepEqual(await readdir(join(folder, registry!)), [file], 'and nothing is left beside it')
  })

  test('of Apicurio is asked by its own ids', async () => {
    const answered: string[] = []
    server.intervene = path => {
      answered.push(path)
      return Buffer.from(JSON.stringify(job))
    }
    assert.equal(
      await readBy(apicurioRegistry({ url: server.url }), framed(jobBytes, 7), apicurioWire()),
      'read j',
    )
    server.intervene = () => null
    assert.deepEqual(answered, ['/apis/registry/v3/ids/contentIds/7'])
  })

  for (const [name, access] of [
    ['a login in plain text', { url: 'http://registry.example', auth: { token: 't' } }],
    ['a login in the address', { url: 'https://ann:secret@registry.example' }],
    ['TLS without https', { url: 'http://registry.example', tls: { ca: 'x' } }],
    ['no address', { url: 'registry' }],
  ] as const)
    test(`${name} is refused`, () => {
      assert.throws(() => confluentRegistry(access as never), { code: 'configuration' })
    })
})

function nested(depth: number): unknown {
  return depth === 0 ? 'string' : { type: 'array', items: nested(depth - 1) }
}

function wide(count: number): unknown {
  const fields = Array.from({ length: count }, (_, n) => ({ name: `f${n}`, type: 'string' }))
  return { type: 'record', name: 'Wide', fields }
}

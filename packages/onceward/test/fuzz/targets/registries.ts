import assert from 'node:assert/strict'
import { apicurioRegistry, confluentRegistry, type SchemaRegistry } from 'onceward/schema'
import { OncewardError } from '../../../src/errors.ts'
import { RegistryServer } from '../../schema/registry-server.ts'
import type { Target } from '../target.ts'

/** A registry that answers every request with what is given, over HTTP. */
let opened: Promise<{ readonly server: RegistryServer; readonly registry: SchemaRegistry }> | null = null

async function open() {
  const server = await new RegistryServer().start()
  return { server, registry: confluentRegistry({ url: server.url, timeoutMs: 5_000 }) }
}

const documented = new Set(['registry_unavailable', 'schema_unknown', 'schema_refused'])

async function orDocumented<T>(ask: () => Promise<T>): Promise<T | null> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof OncewardError && documented.has(error.code)) return null
    throw error
  }
}

/** Whatever a registry answers, the answer is read, or is a documented error. */
const answers: Target = {
  name: 'registry answers',
  kind: 'json',
  seeds: [
    { status: 200, body: { schema: '"string"', schemaType: 'AVRO', references: [], id: 1, guid: 'g' } },
    {
      status: 200,
      body: { schema: '{}', schemaType: 'JSON', references: [{ name: 'a', subject: 's', version: 1 }] },
    },
    { status: 404, body: { error_code: 40_403, message: 'not found' } },
    { status: 200, body: [1, 2] },
    { status: 200, body: { is_compatible: false, messages: ['no'] } },
    { status: 409, body: { error_code: 409, message: 'no' } },
  ],
  words: [
    ...['status', 'body', 'schema', 'schemaType', 'references', 'name', 'subject', 'version', 'id', 'guid'],
    ...['AVRO', 'PROTOBUF', 'JSON', 'error_code', 'is_compatible', 'messages', 'message', '__proto__'],
  ],
  async check(input) {
    opened ??= open()
    const { server, registry } = await opened
    const { status, body = null } = (JSON.parse(input.toString('utf8')) ?? {}) as {
      status?: unknown
      body?: unknown
    }
    const code = typeof status === 'number' && status >= 200 && status < 600 ? Math.floor(status) : 200
    server.requests.length = 0
    server.intervene = () =>
      code === 204 || code === 304 ? Buffer.from(JSON.stringify(body)) : { status: code, body }
    const { signal } = new AbortController()
    const schema = { type: 'AVRO', text: '"string"', references: [] } as const
    const found = await orDocumented(() => registry.find({ kind: 'id', id: 1 }, signal))
    if (found !== null) assertSchema(found)
    for (const one of (await orDocumented(() => registry.versions('s', signal))) ?? [])
      assertSchema(one.schema)
    const ids = await orDocumented(() => registry.lookup('s', schema, signal))
    if (ids !== null) assert.equal(typeof ids.id, 'number')
    await orDocumented(() => registry.register('s', schema, signal))
    const refusals = (await orDocumented(() => registry.refusals('s', schema, signal))) ?? []
    assert.ok(refusals.every(one => typeof one === 'string'))
    const apicurio = apicurioRegistry({ url: server.url })
    await orDocumented(() => apicurio.find({ kind: 'globalId', id: 1n }, signal))
  },
}

function assertSchema({ text, references }: { text: string; references: readonly { text: string }[] }): void {
  for (const one of [text, ...references.map(reference => reference.text)]) assert.equal(typeof one, 'string')
}

export const registryTargets = [answers]

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { avroEncoder, confluentRegistry } from 'onceward/schema'

const job = { type: 'record', name: 'Job', fields: [{ name: 'id', type: 'string' }] } as const

describe('an encoder', () => {
  const place = { broker: 'kafka', topic: 'jobs', id: 'm', type: undefined, key: null } as const

  test('writes what a body was at the call, also before it is ready', async () => {
    const encoder = avroEncoder({
      registry: confluentRegistry({ url: 'http://127.0.0.1:1' }),
      registration: { id: 1, guid: null },
      schema: { ...job, fields: [...job.fields, { name: 'raw', type: 'bytes' }] },
    })
    class Body {
      id = ''
      raw = Buffer.alloc(1)
      get late() {
        return this.id
      }
    }
    const body = new Body()
    const bodies = ['a', 'b', 'c'].map((id, at) => {
      body.id = id
      body.raw[0] = at
      return encoder.encode(body, place as never)
    })
    const encoded = await Promise.all(bodies)
    assert.deepEqual(
      encoded.map(one => Buffer.from(one.body as Uint8Array).subarray(5)),
      [0, 1, 2].map(at => Buffer.of(2, 97 + at, 2, at)),
    )
  })

  for (const registration of ['lookup', 'register'] as const)
    test(`does not wait longer for a token than its time (${registration})`, async () => {
      const auth = { token: () => new Promise<string>(() => {}) }
      const registry = confluentRegistry({ url: 'http://127.0.0.1:1', auth })
      const encoder = avroEncoder({ registry, registration, schema: job, timeoutMs: 100 })
      await assert.rejects(async () => encoder.encode({ id: 'm' }, place as never), {
        code: 'registry_unavailable',
        message: /no answer in 100 ms/,
      })
    })
})

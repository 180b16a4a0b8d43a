import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import {
  type CloudEvent,
  cloudEventFromHttp,
  cloudEventId,
  cloudEventIdentity,
  cloudEventsCodec,
  cloudEventsEncoder,
  cloudEventToHttp,
} from 'onceward/cloudevents'
import { withDefaults } from '../../src/contract/options/defaults.ts'
import type { EncodePlace } from '../../src/contract/publish-target.ts'

const limits = withDefaults('message.limits', {})
const attributes = {
  specversion: '1.0',
  id: 'e-1',
  source: '/shop/orders',
  type: 'shop.order.placed',
  subject: 'o-7',
  time: '2026-11-18T19:00:00.5Z',
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
} as const
const data = { total: 5, note: 'žluť "50%"' }

const read = (body: string | Uint8Array, headers: object = {}, contentType?: string) =>
  cloudEventsCodec().decode(Buffer.from(body as string), limits, {
    headers: headers as never,
    properties: contentType === undefined ? {} : { contentType },
    key: null,
  }) as CloudEvent
const plain = (value: unknown) => ({ ...(value as object) })
const prefixed = (prefix: string) =>
  Object.fromEntries(Object.entries(attributes).map(([name, value]) => [prefix + name, value]))

describe('CloudEvents in', () => {
  const expected = { ...attributes, datacontenttype: 'application/json', data }
  const json = JSON.stringify(data)
  for (const [name, headers] of [
    [
      'Kafka',
      Object.fromEntries(Object.entries(prefixed('ce_')).map(([key, text]) => [key, Buffer.from(text)])),
    ],
    ['AMQP', prefixed('cloudEvents:')],
    ['AMQP without colons', prefixed('cloudEvents_')],
    ['HTTP', prefixed('ce-')],
    ['PostgreSQL', prefixed('ce_')],
  ] as const)
    test(`binary, ${name}`, () => {
      assert.deepEqual(plain(read(json, headers, 'application/json')), expected)
    })

  test('structured, with data as JSON, as bytes, and without', () => {
    const type = 'application/cloudevents+json; charset=UTF-8'
    const event = { ...attributes, sequence: 7, partial: null, data }
    const { partial: _, ...kept } = event
    assert.deepEqual(plain(read(JSON.stringify(event), {}, type)), { ...kept, sequence: '7' })
    const bytes = { ...attributes, datacontenttype: 'image/png', data_base64: 'AAEC' }
    assert.deepEqual((read(JSON.stringify(bytes), {}, type).data as Buffer).toString('hex'), '000102')
    assert.equal('data' in read(JSON.stringify(attributes), {}, type), false)
  })

  test('data of another type stays bytes; without a type it is JSON', () => {
    const png = read(Buffer.of(1, 2), prefixed('ce_'), 'image/png')
    assert.deepEqual(png.data, Buffer.of(1, 2))
    assert.deepEqual(read(json, prefixed('ce_')).data, data)
  })

  test('the identity is the source with the id', () => {
    const event = read(json, prefixed('ce_'))
    assert.equal(cloudEventIdentity.id(event), '/shop/orders e-1')
    assert.notEqual(cloudEventId({ source: '/a', id: 'b c' }), cloudEventId({ source: '/a%20b', id: 'c' }))
  })

  for (const [name, headers, contentType, body] of [
    ['no event', {}, 'application/json', '{}'],
    ['another version', { ...prefixed('ce_'), ce_specversion: '0.3' }, undefined, '{}'],
    ['no id', { ...prefixed('ce_'), ce_id: '' }, undefined, '{}'],
    ['a source with a space', { ...prefixed('ce_'), ce_source: '/a b' }, undefined, '{}'],
    ['a time that is none', { ...prefixed('ce_'), ce_time: 'now' }, undefined, '{}'],
    ['a name with a sign', { ...prefixed('ce_'), 'ce_a-b': 'x' }, undefined, '{}'],
    ['an attribute named data', { ...prefixed('ce_'), ce_data: 'x' }, undefined, '{}'],
    ['an attribute given twice', { ...prefixed('cloudEvents:'), cloudEvents_id: 'e-2' }, undefined, '{}'],
    ['a header that is a table', { ...prefixed('ce_'), ce_id: { a: 1 } }, undefined, '{}'],
    ['a header of broken UTF-8', { ...prefixed('ce_'), ce_id: Buffer.of(255) }, undefined, '{}'],
    ['broken percent-encoding', { ...prefixed('ce-'), 'ce-id': '%FF' }, undefined, '{}'],
    ['a batch', {}, 'application/cloudevents-batch+json', '[]'],
    ['an event in XML', {}, 'application/cloudevents+xml', '<event/>'],
    ['a list', {}, 'application/cloudevents+json', '[]'],
    [
      'both forms of data',
      {},
      'application/cloudevents+json',
      JSON.stringify({ ...attributes, data, data_base64: 'AA==' }),
    ],
    [
      'an attribute that is an object',
      {},
      'application/cloudevents+json',
      JSON.stringify({ ...attributes, ext: {} }),
    ],
    [
      'a member __proto__',
      {},
      'application/cloudevents+json',
      '{"specversion":"1.0","__proto__":{"id":"x"}}',
    ],
  ] as const)
    test(`${name} is refused`, () => {
      assert.throws(() => read(body, headers, contentType), /Error/)
    })
})

describe('CloudEvents out', () => {
  const place = (broker: EncodePlace['broker']): EncodePlace => ({
    ...{ broker, topic: 'orders', id: 'm-1', type: 'shop.order.placed', key: null },
  })
  const event = { subject: 'o-7', note: 'žluť "50%"', data }

  for (const broker of ['kafka', 'rabbitmq', 'postgres', 'cdc'] as const)
    for (const mode of ['binary', 'structured'] as const)
      test(`${broker}, ${mode}: is read back as it was`, async () => {
        const sent = await cloudEventsEncoder({ source: '/shop', mode }).encode(event, place(broker))
        const back = plain(read(sent.body, sent.headers, sent.contentType))
        assert.deepEqual(back, {
          ...{ specversion: '1.0', source: '/shop', id: 'm-1', type: 'shop.order.placed' },
          ...event,
          datacontenttype: 'application/json',
        })
        const names = Object.keys(sent.headers ?? {})
        const prefix = broker === 'rabbitmq' ? 'cloudEvents:' : 'ce_'
        assert.equal(
          mode === 'binary' ? names.every(name => name.startsWith(prefix)) : names.length === 0,
          true,
        )
        assert.equal(
          sent.contentType,
          mode === 'binary' ? 'application/json' : 'application/cloudevents+json',
        )
      })

  test('data by another encoder keeps its bytes, type and headers', async () => {
    const inner = {
      name: 'inner',
      encode: async () => ({
        body: Buffer.of(1, 2),
        contentType: 'application/x-inner',
        headers: { x: 'y' },
      }),
    }
    const sent = await cloudEventsEncoder({ source: '/s', data: inner }).encode(event, place('kafka'))
    assert.deepEqual(
      [sent.body, sent.contentType, sent.headers?.x],
      [Buffer.of(1, 2), 'application/x-inner', 'y'],
    )
  })

  for (const [name, body] of [
    ['no object', 'text'],
    ['an attribute of capitals', { ...event, Note: 'x' }],
    ['an attribute that is an object', { ...event, ext: {} }],
    ['an empty type', { ...event, type: '' }],
  ] as const)
    test(`${name} is refused`, () => {
      assert.throws(() => cloudEventsEncoder({ source: '/s' }).encode(body, place('kafka')), TypeError)
    })

  for (const mode of ['binary', 'structured'] as const)
    test(`HTTP, ${mode}: over a real connection`, async () => {
      const arrived = Promise.withResolvers<CloudEvent>()
      const server = createServer(async (request, response) => {
        const parts: Buffer[] = []
        for await (const part of request) parts.push(part as Buffer)
        cloudEventFromHttp(request.headers, Buffer.concat(parts)).then(arrived.resolve, arrived.reject)
        response.end()
      })
      await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
      const whole = { ...attributes, note: 'ž "50%" €', datacontenttype: 'application/json', data }
      const { headers, body } = cloudEventToHttp(whole, mode)
      if (mode === 'binary') assert.equal(headers['ce-note'], '%C5%BE%20%2250%25%22%20%E2%82%AC')
      await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, {
        method: 'POST',
        headers,
        body: body as never,
      })
      assert.deepEqual(plain(await arrived.promise), whole)
      await new Promise(resolve => server.close(resolve))
    })

  test('every attribute survives every binding', async () => {
    const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 })
    await fc.assert(
      fc.asyncProperty(text, fc.constantFrom('kafka', 'rabbitmq'), async (note, broker) => {
        const sent = await cloudEventsEncoder({ source: '/s' }).encode(
          { note, data: 1 },
          place(broker as never),
        )
        assert.equal(read(sent.body, sent.headers, sent.contentType).note, note)
        const whole = { ...attributes, note, data: 1 } as const
        const { headers, body } = cloudEventToHttp(whole)
        assert.equal((await cloudEventFromHttp(headers, body)).note, note)
      }),
      { numRuns: 200 },
    )
  })
})

import assert from 'node:assert/strict'
import { cloudEventFromHttp, cloudEventId, cloudEventsCodec, cloudEventToHttp } from 'onceward/cloudevents'
import { isOverflow, type Target } from '../target.ts'

const attributes = { specversion: '1.0', id: 'a', source: '/s', type: 't' }
const prefixed = (prefix: string, more = {}) =>
  Object.fromEntries(
    Object.entries({ ...attributes, ...more }).map(([name, value]) => [prefix + name, value]),
  )
const structured = { contentType: 'application/cloudevents+json; charset=utf-8' }

const limits = {
  ...{ bytesMax: 1 << 16, depthMax: 32, keysMax: 1_000 },
  ...{ headersMax: 100, headerBytesMax: 65_536, decompressedBytesMax: 1 << 16 },
}
const codec = cloudEventsCodec()

async function orRefused<T>(read: () => T | Promise<T>): Promise<T | null> {
  try {
    return await read()
  } catch (error) {
    const { name, message } = error as Error
    const documented = ['TypeError', 'RangeError', 'SyntaxError', 'InexactNumber', 'Error'].includes(name)
    if (documented && !isOverflow(error as Error) && !/is not a function|Cannot read/.test(message))
      return null
    throw error
  }
}

/** An event of any binding conforms, or is refused; one that is read can be sent and read again. */
const events: Target = {
  name: 'cloud events',
  kind: 'json',
  seeds: [
    { headers: {}, properties: structured, body: JSON.stringify({ ...attributes, data: { a: 1 } }) },
    { headers: {}, properties: structured, body: JSON.stringify({ ...attributes, data_base64: 'aGk=' }) },
    { headers: prefixed('ce_', { time: '2026-01-01T00:00:00Z' }), properties: {}, body: '{"a":1}' },
    { headers: prefixed('cloudEvents:'), properties: { contentType: 'text/plain' }, body: 'text' },
    {
      headers: prefixed('ce-', { subject: '%F0%9F%98%80 "x"' }),
      properties: { contentType: 'a/b+json' },
      body: '1',
    },
  ],
  words: [
    ...['ce_', 'ce-', 'cloudEvents:', 'cloudEvents_', 'specversion', '1.0', 'id', 'source', 'type', 'time'],
    ...['datacontenttype', 'dataschema', 'data', 'data_base64', 'subject', '%', '%zz', '"', '\\', 'headers'],
    ...['application/cloudevents+json', 'application/cloudevents-batch+json', 'charset=utf-16', '__proto__'],
  ],
  async check(input) {
    const given = record(JSON.parse(input.toString('utf8')))
    const delivery = { headers: record(given.headers), properties: record(given.properties), key: null }
    const body = Buffer.from(typeof given.body === 'string' ? given.body : JSON.stringify(given.body ?? null))
    const event = await orRefused(() => codec.decode(body, limits, delivery as never))
    const texts = Object.fromEntries(
      Object.entries(delivery.headers).map(([name, value]) => [name, String(value)]),
    )
    const type = delivery.properties.contentType
    const headers = { ...texts, ...(type !== undefined && { 'content-type': String(type) }) }
    await orRefused(() => cloudEventFromHttp(headers, body))
    if (event === null) return
    const read = event as Parameters<typeof cloudEventToHttp>[0]
    assert.ok(cloudEventId(read).length > 2)
    for (const mode of ['binary', 'structured'] as const) {
      const sent = await orRefused(() => cloudEventToHttp(read, mode))
      if (sent === null) continue
      const again = await cloudEventFromHttp(sent.headers, sent.body)
      assert.deepEqual([again.id, again.source, again.type], [read.id, read.source, read.type], mode)
    }
  },
}

function record(value: unknown): Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? { ...value } : {}
}

export const eventTargets = [events]

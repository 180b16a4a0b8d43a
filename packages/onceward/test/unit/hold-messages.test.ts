import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { SqlClient } from '../../src/drivers/postgres/pool.ts'
import { holdMessages } from '../../src/drivers/postgres/sql/hold-messages.ts'
import type { Conclusion } from '../../src/ports/conclusion.ts'
import type { Enrolment } from '../../src/ports/enrolment.ts'
import type { HeldRecord } from '../../src/ports/held-record.ts'

const enrolment = {
  consumerId: 1,
  runId: '1',
  facts: {
    name: 'cases',
    generation: 2,
    deadLetterTo: { broker: 'kafka', queue: 'cases.dead', owner: 'case-team' },
  },
} as unknown as Enrolment

const held = {
  state: 'dead',
  copied: true,
  was: null,
  reason: 'refused',
  failureClass: 'validation',
  code: 'x',
  attempts: 3,
  orderKey: null,
  schemaVersion: null,
  correlationId: null,
  origin: 'case-events',
  position: 'case-events/3@1207',
  brokerKey: 'case-7',
  headers: '{"trace":{"$bytes":"AAH/"}}',
  properties: '{}',
  body: Buffer.from('b'),
} as unknown as HeldRecord

async function copyOf(record: HeldRecord): Promise<{ key: unknown; headers: Record<string, unknown> }> {
  const copy = (await copiesOf(record, enrolment))!
  return { key: copy[4], headers: JSON.parse(String(copy[5])) }
}

/** The row of the outbox; null where none was written. */
async function copiesOf(record: HeldRecord, by: Enrolment): Promise<unknown[] | null> {
  let copy: unknown[] | null = null
  const client = {
    query: async (sql: string, values: unknown[]) => {
      if (sql.includes('onceward.outbox')) copy = values.map(column => (column as unknown[])[0])
      return { rows: [{ id: '5', seen: 1, message_id: 'm-1', digest: '00', last_ms: 1_700_000_000_000 }] }
    },
  } as unknown as SqlClient
  await holdMessages(client, by, [{ id: 'm-1', digest: Buffer.alloc(1), held: record } as Conclusion])
  return copy
}

describe('the copy of a dead letter', () => {
  test("is not written where its topic is too small even for the original's position", async () => {
    const limited = (bytes: number) => {
      const topicLimits = { bytesMax: () => bytes, doubt: () => {} }
      return { ...enrolment, facts: { ...enrolment.facts, topicLimits } } as Enrolment
    }
    const large = { ...held, body: Buffer.alloc(5_000) }
    assert.equal(await copiesOf(large, limited(1_300)), null)
    assert.equal(((await copiesOf(large, limited(5_000)))![7] as Buffer).length, 0)
    assert.equal(((await copiesOf(large, limited(9_000)))![7] as Buffer).length, 5_000)
  })

  test("has the original's position, key and headers", async () => {
    const { key, headers } = await copyOf(held)
    assert.equal(key, 'case-7')
    assert.equal(headers['onceward-origin'], 'case-events')
    assert.equal(headers['onceward-position'], 'case-events/3@1207')
    assert.deepEqual(headers.trace, { $bytes: 'AAH/' })
  })

  test("has the origin and the failure in Spring's headers", async () => {
    const bytes = (value: unknown) => Buffer.from((value as { $bytes: string }).$bytes, 'base64')
    const died = {
      ...held,
      properties: '{"timestampMs":1700000000123}',
      error: 'E'.repeat(9_000),
      place: 'f (a.ts:1)',
    }
    const { headers } = await copyOf(died)
    assert.equal(bytes(headers['kafka_dlt-original-topic']).toString(), 'case-events')
    assert.equal(bytes(headers['kafka_dlt-original-partition']).toString('hex'), '00000003')
    assert.equal(bytes(headers['kafka_dlt-original-offset']).readBigInt64BE(), 1207n)
    assert.equal(bytes(headers['kafka_dlt-original-timestamp']).readBigInt64BE(), 1_700_000_000_123n)
    assert.ok(!('kafka_dlt-original-timestamp-type' in headers))
    assert.equal(bytes(headers['kafka_dlt-exception-fqcn']).toString(), 'x')
    assert.equal(bytes(headers['kafka_dlt-exception-message']).length, 2_000)
    const trace = bytes(headers['kafka_dlt-exception-stacktrace']).toString()
    assert.ok(trace.length < 2_000 && trace.endsWith('\tat f (a.ts:1)'))
  })

  test('keeps the origin of an earlier failure, and only the last error', async () => {
    const before = {
      'kafka_dlt-original-topic': { $bytes: 'YQ==' },
      'kafka_dlt-exception-message': { $bytes: 'YQ==' },
    }
    const { headers } = await copyOf({ ...held, headers: JSON.stringify(before) })
    const own = { $bytes: Buffer.from('case-events').toString('base64') }
    assert.deepEqual(headers['kafka_dlt-original-topic'], [{ $bytes: 'YQ==' }, own])
    assert.deepEqual(headers['kafka_dlt-exception-message'], {
      $bytes: Buffer.from('refused').toString('base64'),
    })
  })

  test('has no position where the broker has none', async () => {
    const { headers } = await copyOf({ ...held, position: null })
    assert.equal('onceward-position' in headers, false)
  })
})

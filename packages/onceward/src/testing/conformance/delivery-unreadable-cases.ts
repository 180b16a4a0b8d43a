import assert from 'node:assert/strict'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { ConformanceCase } from './conformance-case.ts'
import type { DeliveryFeature } from './delivery.ts'
import type { DeliveryBench, Job, JobContract } from './delivery-bench.ts'

type Cases = readonly ConformanceCase<DeliveryBench<unknown>, DeliveryFeature>[]

interface Unreadable {
  readonly what: string
  readonly body: Buffer
  readonly row: { readonly id: string | null; readonly state: string; readonly code: string }
  readonly contract?: Partial<JobContract>
  readonly needs?: readonly DeliveryFeature[]
}

const bytes = (value: unknown) => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value))

/** Any Standard Schema: wants a note. */
const noted: StandardSchemaV1<unknown, Job> = {
  '~standard': {
    version: 1,
    vendor: 'conformance',
    validate: value =>
      typeof (value as Job).note === 'string'
        ? { value: value as Job }
        : { issues: [{ message: 'expected text', path: ['note'] }] },
  },
}

const unreadable: readonly Unreadable[] = [
  {
    what: 'bytes that are no JSON',
    body: bytes('{"id": '),
    row: { id: null, state: 'quarantined', code: 'undecodable' },
  },
  {
    what: 'no bytes at all',
    body: Buffer.alloc(0),
    row: { id: null, state: 'quarantined', code: 'undecodable' },
    needs: ['any bytes'],
  },
  {
    what: 'broken UTF-8',
    body: Buffer.from([0x22, 0xff, 0x22]),
    row: { id: null, state: 'quarantined', code: 'undecodable' },
  },
  {
    what: 'a message without an id',
    body: bytes({ note: 'x' }),
    row: { id: null, state: 'quarantined', code: 'id_missing' },
  },
  {
    what: 'a message whose id has spaces around it',
    body: bytes({ id: ' a ' }),
    row: { id: null, state: 'quarantined', code: 'id_malformed' },
  },
  {
    what: 'a whole number that JavaScript would round',
    body: bytes('{"id": "a", "note": {"account": 9007199254740993}}'),
    row: { id: 'a', state: 'quarantined', code: 'inexact_number' },
  },
  {
    what: 'an id that JavaScript would round',
    body: bytes('{"id": 9007199254740993}'),
    row: { id: '9007199254740993', state: 'quarantined', code: 'inexact_number' },
  },
  {
    what: 'a message the schema refuses',
    body: bytes({ id: 'a' }),
    row: { id: 'a', state: 'dead', code: 'invalid' },
    contract: { message: noted },
  },
  {
    what: 'a message without its business key',
    body: bytes({ id: 'a' }),
    row: { id: 'a', state: 'quarantined', code: 'business_key_missing' },
    contract: { identity: { id: job => job.id, businessKey: job => job.business } },
    needs: ['business keys'],
  },
]

/** Bytes that never reach a handler get a row and an outcome all the same. */
export const deliveryUnreadableCases: Cases = unreadable.map(({ what, body, row, contract, needs = [] }) => ({
  name: `${what}: held with every byte, settled, and the next good message is applied`,
  needs,
  async run(bench: DeliveryBench<unknown>) {
    const good = { id: 'good', note: 'fine', business: 'k' }
    await bench.publishRaw({ body })
    await bench.publish(good)
    await bench.start(contract)
    await bench.untilEnded(2)
    await bench.publishRaw({ body })
    await bench.finish(3)
    assert.deepEqual(await bench.applied(), ['good'])
    const rows = await bench.held()
    assert.deepEqual(
      rows.map(({ id, state, code }) => ({ id, state, code })),
      [row],
    )
    assert.ok(rows[0]!.body.equals(body))
    if (row.id === null) assert.equal(rows[0]!.seen, 2)
    else assert.equal(await bench.marker(row.id), row.state)
  },
}))

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { decodeRecordSet } from '../../src/drivers/kafka/record-set.ts'
import { toLogRecord } from '../../src/drivers/kafka/to-log-record.ts'
import { LogDelivery } from '../../src/drivers/log/log-delivery.ts'
import { PartitionProgress } from '../../src/drivers/log/partition-progress.ts'
import { recordWith } from '../../src/ports/log-record.ts'
import { batch } from '../kafka/batches.ts'

function recordOf(value: Buffer | null, key: Buffer | null = null) {
  const bytes = batch([{ key, value, headers: [['type', Buffer.from('paid')]], timestampMs: 7 }], {
    base: 41,
  })
  const options = { from: 0, isolation: 'committed', aborted: [], bytesMax: 1 << 20 } as const
  return toLogRecord(decodeRecordSet(bytes, options).records[0]!, 'payments/3', true)
}

describe('a delivered Kafka record', () => {
  test('has its place, its key and what its headers mean', () => {
    const record = recordOf(Buffer.from('body'), Buffer.from('key'))
    assert.equal(record.body.toString(), 'body')
    assert.equal(record.key, 'key')
    assert.equal(record.at, '41')
    assert.equal(record.next, '42')
    assert.equal(record.position, 'payments/3@41')
    assert.equal(record.redelivered, true)
    assert.deepEqual({ ...record.properties }, { timestampMs: 7, type: 'paid' })
  })

  test('has a next position after trailing gaps', () => {
    const record = recordOf(Buffer.from('body'))
    record.next = '50'
    assert.equal(record.next, '50')
    assert.equal(record.at, '41')
  })

  test('without a value is a tombstone with an empty body, and may have no key', () => {
    const record = recordOf(null)
    assert.equal(record.body.length, 0)
    assert.equal(record.key, null)
    assert.equal(record.properties.tombstone, true)
  })

  test('is unchanged when it is copied out of its fetch', () => {
    const progress = new PartitionProgress('payments/3', 1, { incarnation: 'one', next: '41' })
    const delivery = new LogDelivery(recordOf(Buffer.from('body'), Buffer.from('key')), progress, 'payments')
    const seen = ({ body, headers, properties, key, position, place, next, redelivered }: LogDelivery) =>
      structuredClone({ body, headers: { ...headers }, properties, key, position, place, next, redelivered })
    const before = seen(delivery)
    delivery.keepApart()
    assert.deepEqual(seen(delivery), before)
    assert.deepEqual([before.position, before.next], ['payments/3@41', '42'])
  })

  test('is unchanged when the beginning of its range is set', () => {
    const record = recordOf(Buffer.from('body'), Buffer.from('key'))
    const { at, next, position, key, since } = recordWith(record, { since: '30' })
    assert.deepEqual([at, next, position, key, since], ['41', '42', 'payments/3@41', 'key', '30'])
  })
})

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { cancelledBy, overdueClose, type QueueAnswer } from '../../src/drivers/rabbitmq/overdue.ts'

const cancelled = { queue: 'q', brokerVersion: '4.3.6', isHolding: true, queueIs: 'there' as QueueAnswer }

describe('a consumer that the broker cancelled', () => {
  test('held deliveries too long where its queue exists and the broker cancels for that', () => {
    assert.equal(cancelledBy(cancelled).kind, 'timed_out')
    for (const brokerVersion of ['4.10.0', '5.0.0'])
      assert.equal(cancelledBy({ ...cancelled, brokerVersion }).kind, 'timed_out')
  })

  test('lost its queue otherwise', () => {
    for (const otherwise of [
      { queueIs: 'missing' as const },
      { isHolding: false },
      { brokerVersion: '4.2.1' },
    ])
      assert.equal(cancelledBy({ ...cancelled, ...otherwise }).kind, 'cancelled')
    assert.match(
      cancelledBy({ ...cancelled, queueIs: 'missing' as const }).reason,
      /queue q was deleted or moved/,
    )
  })
})

describe('a channel that the broker closed', () => {
  test('held deliveries too long where the broker says so', () => {
    const said =
      'PRECONDITION_FAILED - delivery acknowledgement on channel 1 timed out. Timeout value used: 3000 ms'
    assert.equal(overdueClose(said, 'q')?.kind, 'timed_out')
    assert.match(overdueClose(said, 'q')!.reason, /Nothing was lost.*Timeout value used: 3000 ms/s)
    assert.equal(overdueClose('PRECONDITION_FAILED - unknown delivery tag 7', 'q'), null)
  })
})

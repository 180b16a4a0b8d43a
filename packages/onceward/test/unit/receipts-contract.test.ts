import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type ConsumerContract, defineConsumer } from 'onceward'

const contract = (changes: Partial<ConsumerContract>): ConsumerContract =>
  ({
    name: 'paying',
    owner: 'tests',
    risk: 'low value',
    source: { kind: 'memory' },
    identity: { id: { header: 'id' } },
    handle: () => {},
    ...changes,
  }) as ConsumerContract

describe('evidence of a contract', () => {
  test('has receipts by default for risk money and regulatory only', () => {
    const kept = (
      ['money', 'regulatory', 'notification', 'projection', 'telemetry', 'low value'] as const
    ).map(risk => defineConsumer(contract({ risk })).evidence.receipts)
    assert.deepEqual(kept, [true, true, false, false, false, false])
    assert.equal(
      defineConsumer(contract({ risk: 'money', evidence: { receipts: false } })).evidence.receipts,
      false,
    )
  })

  test('keeps payloads in receipts only', () => {
    assert.throws(() => defineConsumer(contract({ evidence: { keep: 'payload' } })), /needs receipts/)
    defineConsumer(contract({ evidence: { keep: 'payload', receipts: true } }))
  })
})

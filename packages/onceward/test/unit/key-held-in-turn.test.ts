import assert from 'node:assert/strict'
import { test } from 'node:test'
import { park, retryAfter } from 'onceward'
import { until } from 'onceward/testing'
import { ConsumerRig, type Note } from './consumer-rig.ts'

interface Order extends Note {
  readonly order: string
}

test('a message that waits for its business key does not block an earlier one of its order key', async () => {
  const rig = new ConsumerRig()
  let tries = 0
  const holder: Order = { id: 'holder', key: 'other', order: '7' }
  const first: Order = { id: 'first', key: 'k', order: '1' }
  const second: Order = { id: 'second', key: 'k', order: '7' }
  rig.publish(holder)
  const consumer = await rig.start({
    order: 'key',
    identity: { id: m => m.id, orderKey: m => m.key!, businessKey: m => (m as Order).order },
    handle: ({ message, tx }) => {
      if (message.id === 'holder') return park('an operator decides')
      if (message.id === 'first' && ++tries === 1) return retryAfter(10)
      rig.apply(tx, message.id)
    },
  })
  await until('the holder is parked', () => consumer.tally.outcomes.parked === 1)
  rig.publish(first, second)
  await until('the first message was tried', () => tries === 1 && rig.env.due.length > 0)
  await rig.env.advance(50)
  await until('the first message ended', () => rig.handled.length > 0 || consumer.tally.outcomes.parked === 3)
  assert.deepEqual(rig.handled, ['first'])
  await until('the second message is parked', () => consumer.tally.outcomes.parked === 2)
  await consumer.drain()
})

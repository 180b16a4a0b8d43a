import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { MemoryCheckpoints } from '../../src/testing/memory-checkpoints.ts'
import { skipWithout } from '../services/services.ts'
import { createTestStream, numbers, openStream, text } from './broker.ts'

describe('a RabbitMQ stream', { timeout: 240_000, ...(await skipWithout('rabbitmq')) }, () => {
  for (const progress of ['broker', 'store', 'only', 'first'] as const) {
    test(`delivers in order and continues at the settled position, with progress ${progress}`, async t => {
      const { name, send } = await createTestStream(t)
      const checkpoints = new MemoryCheckpoints()
      const log = { progress, checkpoints }
      await send(...numbers(0, 10))
      const one = await openStream(t, name, { start: 'first' }, { log })
      const deliveries = await one.take(10)
      assert.deepEqual(text(deliveries), numbers(0, 10))
      const done = deliveries.slice(0, 4)
      for (const proposed of one.subscription.log!.progressWith(deliveries, done)) {
        if (proposed.next !== null)
          await checkpoints.begin(proposed.partition, proposed.epoch, { ...proposed, next: proposed.next })
      }
      assert.deepEqual(await one.subscription.settle(done), { missed: 0 })
      await one.subscription.close()
      const other = await openStream(t, name, {}, { log })
      assert.deepEqual(text(await other.take(6)), numbers(4, 10))
    })
  }
})

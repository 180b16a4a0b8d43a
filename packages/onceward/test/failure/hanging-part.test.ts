import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { until } from 'onceward/testing'
import { countingDatabase, increment, startCounting } from '../delivery/counting.ts'
import { skipWithout } from '../services/services.ts'

describe('batches in parts, because statements failed recently', await skipWithout('postgres'), () => {
  test('blame a handler that hangs, and no other', async () => {
    await using database = await countingDatabase()
    await using consumer = await startCounting(database.url, {
      batch: { handlerTimeoutMs: 3_000 },
      failure: { attemptsMax: 1 },
      handle: async ({ message, tx }) => {
        await increment(tx, message.key)
        if (message.id === 'fails') await tx.query('select 1 / 0')
        if (message.id === 'hangs') await new Promise(() => {})
      },
    })
    consumer.publish({ id: 'fails', key: 'fails' })
    await until('a statement has failed', () => consumer.queue.unsettled === 0)
    const beside = Array.from({ length: 10 }, (_, n) => ({ id: `m${n}`, key: `m${n}` }))
    consumer.publish(...beside.slice(0, 5), { id: 'hangs', key: 'hangs' }, ...beside.slice(5))
    await until('all are settled', () => consumer.queue.unsettled === 0)
    const held = (await database.held()).map(({ id, state, code }) => `${id} ${state} ${code}`)
    assert.deepEqual(held.sort(), ['fails dead 22012', 'hangs parked handler_timeout'])
    assert.equal(await database.counted(), 10)
  })
})

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type ConsumerContract, defineConsumer, park, runConsumer } from 'onceward'
import { createPool, createQueue, migrate, postgresQueue, publish } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { readGauges } from '../../src/drivers/postgres/gauges/read-gauges.ts'
import { createDatabase, skipWithout } from '../services/services.ts'

const contract: ConsumerContract<{ id: string }> = {
  name: 'succeeded',
  owner: 'tests',
  risk: 'projection',
  source: postgresQueue('succeeded'),
  identity: { id: message => message.id },
  inbox: { mode: 'stored' },
  handle: () => park('a person decides'),
}

describe('what a new generation shows', await skipWithout('postgres'), () => {
  test('the messages that the one before it left: parked, and stored without a worker', async t => {
    const database = await createDatabase()
    const pool = createPool(database.url, { max: 2 })
    t.after(async () => {
      await pool.end()
      await database.drop()
    })
    await migrate(pool)
    await createQueue(pool, 'succeeded')
    const before = await runConsumer(defineConsumer(contract), { databaseUrl: database.url })
    await publish(pool, 'succeeded', [{ body: { id: 'parked' } }])
    await until('it is parked', async () => (await readGauges(pool, before1, 256)).held.parked === 1)
    await before.drain()
    const storing = await runConsumer(defineConsumer(contract), {
      databaseUrl: database.url,
      parts: ['consumer'],
    })
    await publish(pool, 'succeeded', [{ body: { id: 'stored' } }])
    await until('it is stored', async () => (await readGauges(pool, before1, 256)).held.stored === 1)
    await storing.drain()
    const second = defineConsumer({ ...contract, generation: 2 })
    await assert.rejects(
      runConsumer(second, { databaseUrl: database.url }),
      /Generation 1 of consumer succeeded has 1 acknowledged messages/,
    )
    const next = await runConsumer(second, { databaseUrl: database.url, parts: ['worker'] })
    const now = await readGauges(pool, { name: 'succeeded', generation: 2 }, 256)
    await next.drain()
    assert.deepEqual(now.held, { parked: 1, stored: 1 })
    assert.deepEqual(
      now.setAside.map(({ state, count, oldest }) => [state, count, oldest > 0]),
      [['parked', 1, true]],
    )
    assert.ok(now.heldOldest > 0)
    assert.equal(now.ownOldest, 0, 'its own work is in time')
    assert.equal(now.ownParked, 0, 'the caps are of a generation')
    await pool.query(`insert into onceward.campaign (consumer_name, generation, live_generation, risk, mode, effects, selection, reason)
      values ('succeeded', 1, 2, '', 'rebuild', 'suppressed', '{}', 'a test')`)
    const rebuilt = await readGauges(pool, { name: 'succeeded', generation: 2 }, 256)
    assert.deepEqual(
      [rebuilt.held, rebuilt.setAside],
      [{}, []],
      'what a rebuild left is told with its campaign',
    )
  })
})

const before1 = { name: 'succeeded', generation: 1 }

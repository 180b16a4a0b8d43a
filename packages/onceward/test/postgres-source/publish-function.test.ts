import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createPool, createQueue, migrate } from 'onceward/postgres'
import { createEmptyDatabase, skipWithout } from '../services/services.ts'

describe('onceward.publish, for producers in any language', await skipWithout('postgres'), () => {
  let database: Awaited<ReturnType<typeof createEmptyDatabase>>
  let pool: ReturnType<typeof createPool>
  before(async () => {
    database = await createEmptyDatabase()
    pool = createPool(database.url, { max: 2 })
    await migrate(pool)
    await createQueue(pool, 'invoices')
  })
  after(async () => {
    await pool.end()
    await database.drop()
  })
  const stored = async () =>
    (await pool.query('select message_id, key, headers, body from onceward.queue_message order by id')).rows

  test('adds text and bytes as they are, in the transaction of the caller', async () => {
    const client = await pool.connect()
    await client.query('begin')
    await client.query(`select onceward.publish('invoices', '{"n": 1}')`)
    await client.query('rollback')
    client.release()
    assert.deepEqual(await stored(), [])
    const named = `select onceward.publish('invoices', $1, message_id => 'inv-1', key => 'north', headers => '{"a": "b"}') as n`
    const { rows } = await pool.query(named, ['{"n": "ü"}'])
    await pool.query(`select onceward.publish_bytes('invoices', $1)`, [Buffer.from([0, 255])])
    assert.ok(Number(rows[0].n) > 0)
    assert.deepEqual(await stored(), [
      { message_id: 'inv-1', key: 'north', headers: { a: 'b' }, body: Buffer.from('{"n": "ü"}') },
      { message_id: null, key: null, headers: {}, body: Buffer.from([0, 255]) },
    ])
  })

  test('refuses a queue that does not exist', async () => {
    await assert.rejects(
      pool.query(`select onceward.publish('nowhere', '{}')`),
      /Queue nowhere does not exist/,
    )
  })
})

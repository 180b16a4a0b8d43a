import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { runConsumer } from 'onceward'
import { createPool, migrate, queueDepth } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { People } from '../../packages/onceward/test/parking/people.ts'
import { createDatabase, skipWithout } from '../../packages/onceward/test/services/services.ts'
import { drill } from './drill.ts'
import invoiceBooking, { queue } from './invoice-booking.ts'
import { morning, send } from './produce.ts'

describe('the drill', await skipWithout('postgres'), () => {
  it('goes from the alert to the last booking, each invoice once and in order, and the audit has who did what', async t => {
    const database = await createDatabase()
    const pool = createPool(database.url, { max: 4 })
    await migrate(pool)
    await pool.query('select onceward.create_roles()')
    await pool.query(readFileSync(new URL('tables.sql', import.meta.url), 'utf8'))
    await pool.query(`insert into account (id) values ('north'), ('east'), ('west')`)
    const people = new People(pool, database.url)
    const onCall = ['onceward_operator', 'onceward_approver']
    const ann = await people.login(onCall, { person: true })
    const bob = await people.login(onCall, { person: true })
    await pool.query(`grant insert on account to ${ann.name}`)
    const running = await runConsumer(invoiceBooking, { databaseUrl: database.url })
    t.after(async () => {
      await running.drain()
      await people.close()
      await pool.end()
      await database.drop()
    })

    await send(pool, morning)
    await until('everything is settled', async () => (await queueDepth(pool, queue)).messages === 0)
    const booked = async () =>
      (await pool.query(`select invoice_id from booking order by account_id, number`)).rows.map(
        row => row.invoice_id,
      )
    assert.deepEqual(await booked(), ['north-1', 'north-2', 'north-3'])

    const lines: string[] = []
    await drill({ ann: ann.url, bob: bob.url }, line => void lines.push(line))
    const expected = [
      'east-1',
      'east-2',
      'north-1',
      'north-2',
      'north-3',
      'south-1',
      'south-2',
      'south-3',
      'west-2',
    ]
    await until('all are booked', async () => (await booked()).length === expected.length)
    assert.deepEqual(await booked(), expected)

    await send(pool, morning)
    await until('the copies are settled', async () => (await queueDepth(pool, queue)).messages === 0)
    assert.deepEqual(await booked(), expected)
    const { rows } = await pool.query('select distinct actor from onceward.audit order by 1')
    assert.deepEqual(rows.map(row => row.actor).sort(), [ann.name, bob.name].sort())
    assert.match(lines.at(-1)!, /"ok":true/)
  })
})

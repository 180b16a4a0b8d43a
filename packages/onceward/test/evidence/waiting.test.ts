import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { defineConsumer, projection, runConsumer } from 'onceward'
import { createPool, createQueue, migrate, postgresQueue, publish } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { explain } from '../../src/evidence/explain.ts'
import { createDatabase, skipWithout } from '../services/services.ts'

describe('held messages that are tried later', await skipWithout('postgres'), () => {
  let database: Awaited<ReturnType<typeof createDatabase>>
  let pool: ReturnType<typeof createPool>
  before(async () => {
    database = await createDatabase()
    pool = createPool(database.url, { max: 2 })
    await migrate(pool)
    for (const name of ['late', 'gaps']) await createQueue(pool, name)
  })
  after(async () => {
    await pool.end()
    await database.drop()
  })
  const heldOf = async (id: string) => {
    const { stories } = await explain(pool, { by: 'message', id })
    return stories[0]!.timeline.find(entry => entry.what.startsWith('held as'))
  }
  const isHeld = (id: string) =>
    until('it is held', async () => {
      const { rows } = await pool.query(`select from onceward.held where message_id = $1`, [id])
      return rows.length === 1
    })

  it('reports when a failed message is tried again, at any delay', async () => {
    const consumer = defineConsumer<{ id: string }>({
      name: 'late',
      owner: 'tests',
      risk: 'projection',
      source: postgresQueue('late'),
      identity: { id: m => m.id },
      failure: { mode: 'defer', delayMs: 60_000, delayMaxMs: 60_000 },
      handle: async () => {
        throw Object.assign(new Error('not now'), { code: 'E_LATER' })
      },
    })
    const running = await runConsumer(consumer, { databaseUrl: database.url })
    await publish(pool, 'late', [{ body: { id: 'm-late' } }])
    await isHeld('m-late')
    await running.drain(5_000)
    const held = await heldOf('m-late')
    assert.match(held?.text ?? '', /due for a worker/)
    assert.ok(held?.facts.dueAt instanceof Date)
  })

  it('reports that a fact waits for a missing version', async () => {
    await pool.query('create table gap_view (id text primary key, version bigint not null, state text)')
    const consumer = defineConsumer<{ eventId: string; id: string; version: number; state: string }>({
      name: 'gaps',
      owner: 'tests',
      risk: 'projection',
      source: postgresQueue('gaps'),
      identity: { id: m => m.eventId, orderKey: m => m.id },
      effect: {
        apply: projection({
          table: 'gap_view',
          key: { id: 'id' },
          version: { version: 'version' },
          columns: { state: 'state' },
          gap: {
            policy: 'wait',
            deadlineMs: 600_000,
            keyMax: 10,
            totalMax: 100,
            atDeadline: 'park',
            whenFull: 'park',
          },
        }),
      },
    })
    const running = await runConsumer(consumer, { databaseUrl: database.url })
    const fact = (version: number) => ({
      body: { eventId: `e-${version}`, id: 'a', version, state: `s${version}` },
    })
    await publish(pool, 'gaps', [fact(1), fact(3)])
    await isHeld('e-3')
    await running.drain(5_000)
    assert.ok((await heldOf('e-3'))?.facts.dueAt instanceof Date)
  })
})

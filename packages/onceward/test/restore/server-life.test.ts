import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { createPool, migrate } from 'onceward/postgres'
import type { SqlClient, SqlPool, SqlResult } from '../../src/stores/postgres/pool.ts'
import { ServerLife } from '../../src/stores/postgres/server-life.ts'
import { createDatabase, skipWithout } from '../services/services.ts'

const healthy = {
  in_recovery: false,
  read_only: false,
  system_identifier: '7',
  timeline: 1,
  database_oid: 5,
  flushed: '100000000',
  open: null,
  known: true,
}

/** Answers each look at the server when told to, and anything else with nothing. */
class Scripted implements SqlClient {
  readonly answers: ((found: Record<string, unknown>) => void)[] = []
  query(text: string) {
    if (!text.includes('server_check()')) return Promise.resolve({ rows: [{ id: '1' }], rowCount: 1 })
    return new Promise<SqlResult>(resolve => {
      this.answers.push(found => resolve({ rows: [{ ...healthy, ...found }], rowCount: 1 }))
    })
  }
}

const withPostgres = await skipWithout('postgres')

describe('the life of a server, as a process sees it', () => {
  it('takes no answer for a server set back only because it was overtaken by a later one', async () => {
    const client = new Scripted()
    const life = new ServerLife()
    const slow = life.check(client)
    const quick = life.check(client)
    client.answers[1]!({ flushed: '200000000' })
    await quick
    client.answers[0]!({ flushed: '100000000' })
    await slow
    const back = life.check(client)
    client.answers[2]!({ flushed: '100000000' })
    await assert.rejects(back, { code: 'server_changed' })
  })

  it('goes on where the server hides what it said before', async () => {
    const client = new Scripted()
    const life = new ServerLife()
    for (const [n, found] of [{}, { system_identifier: null, timeline: null, flushed: null }, {}].entries()) {
      const checked = life.check(client)
      client.answers[n]!(found)
      await checked
    }
    const accepted = life.check(client)
    client.answers[3]!({ timeline: 2 })
    await assert.rejects(accepted, /accepted it meanwhile/)
  })
})

describe('a life that is met for the first time', withPostgres, () => {
  let database: Awaited<ReturnType<typeof createDatabase>>
  let pool: SqlPool
  before(async () => {
    database = await createDatabase()
    pool = createPool(database.url, { max: 1 })
    await migrate(pool)
    await pool.query(`
      insert into onceward.consumer (name, generation, owner, risk, dedup) values ('facts', 1, 'tests', 'money', 'marker');
      insert into onceward.run (consumer_id, instance, handler_version, mode, deliveries_max, started_at, heard_at)
        select id, 'i', '1', 'live', 1, '2026-01-01 00:00Z', '2026-01-01 01:00Z' from onceward.consumer;
      insert into onceward.checkpoint (consumer_id, partition, epoch, incarnation, next, run_id, at)
        select consumer_id, 'p', 1, 'i', '5', id, '2026-01-01 02:00Z' from onceward.run`)
  })
  after(async () => {
    await pool.end()
    await database.drop()
  })

  it('is named in the first refusal, with what is sure to be there: batches behind a pooler may have moved on before anybody looked', async () => {
    await pool.query('update onceward.server_life set timeline = timeline + 1')
    await assert.rejects(
      new ServerLife().check(pool),
      (error: Error & { details: Record<string, unknown> }) => {
        assert.match(error.message, /after 2026-01-01T01:00:00\.000Z.*onceward restore accept \d+ /)
        assert.equal((error.details.survivedTo as Date).toISOString(), '2026-01-01T01:00:00.000Z')
        return true
      },
    )
  })
})

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { createPool, migrate } from 'onceward/postgres'
import type { SqlClient, SqlPool, SqlResult } from '../../src/drivers/postgres/pool.ts'
import { ServerIncarnation } from '../../src/drivers/postgres/server-incarnation.ts'
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
    if (!text.includes('server_check()') || text.includes('record_incarnation'))
      return Promise.resolve({ rows: [{ id: '1' }], rowCount: 1 })
    return new Promise<SqlResult>(resolve => {
      this.answers.push(found => resolve({ rows: [{ ...healthy, ...found }], rowCount: 1 }))
    })
  }
}

const withPostgres = await skipWithout('postgres')

describe('the incarnation of a server, as a process sees it', () => {
  it('does not mistake a delayed answer for a restored server', async () => {
    const client = new Scripted()
    const life = new ServerIncarnation()
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

  it('continues where the server hides the values it reported before', async () => {
    const client = new Scripted()
    const life = new ServerIncarnation()
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

describe('an incarnation that is detected for the first time', withPostgres, () => {
  let database: Awaited<ReturnType<typeof createDatabase>>
  let pool: SqlPool
  before(async () => {
    database = await createDatabase()
    pool = createPool(database.url, { max: 1 })
    await migrate(pool)
    await pool.query(`
      insert into onceward.consumer (name, generation, owner, risk, dedup) values ('facts', 1, 'tests', 'money', 'marker');
      insert into onceward.run (consumer_id, instance, handler_version, mode, deliveries_max, started_at, heartbeat_at)
        select id, 'i', '1', 'live', 1, '2026-01-01 00:00Z', '2026-01-01 01:00Z' from onceward.consumer;
      insert into onceward.checkpoint (consumer_id, partition, epoch, incarnation, next, run_id, at)
        select consumer_id, 'p', 1, 'i', '5', id, '2026-01-01 02:00Z' from onceward.run`)
  })
  after(async () => {
    await pool.end()
    await database.drop()
  })

  it('is named in the first refusal, with the position that is certain: batches behind a pooler may have advanced before', async () => {
    await pool.query('update onceward.server_incarnation set timeline = timeline + 1')
    await assert.rejects(
      new ServerIncarnation().check(pool),
      (error: Error & { details: Record<string, unknown> }) => {
        assert.match(error.message, /after 2026-01-01T01:00:00\.000Z.*onceward restore accept \d+ /)
        assert.equal((error.details.survivedTo as Date).toISOString(), '2026-01-01T01:00:00.000Z')
        return true
      },
    )
  })
  it('is not recorded on a healthy server that the pooler connects to', async () => {
    const other = await createDatabase()
    const healthyPool = createPool(other.url, { max: 1 })
    try {
      await migrate(healthyPool)
      let asked = 0
      const pooler: SqlClient = {
        query: (text, values) => (asked++ === 0 ? pool : healthyPool).query(text, values),
      }
      await assert.rejects(new ServerIncarnation().check(pooler), { code: 'wrong_server' })
      const { rows } = await healthyPool.query(
        'select from onceward.server_incarnation where accepted_at is null',
      )
      assert.equal(rows.length, 0)
    } finally {
      await healthyPool.end()
      await other.drop()
    }
  })
})

describe('incarnations of servers whose clocks differ', withPostgres, () => {
  let database: Awaited<ReturnType<typeof createDatabase>>
  let pool: SqlPool
  before(async () => {
    database = await createDatabase()
    pool = createPool(database.url, { max: 1 })
    await migrate(pool)
  })
  after(async () => {
    await pool.end()
    await database.drop()
  })
  const noticed = async () => {
    const { rows } = await pool.query(`select onceward.record_incarnation('a test says so') as id`)
    const { rows: lives } = await pool.query('select * from onceward.server_incarnation where id = $1', [
      rows[0].id,
    ])
    return lives[0]
  }
  const accept = (id: string) => pool.query(`select onceward.accept_incarnation($1, 'looked at')`, [id])

  it('the one accepted last counts, also when the one before was accepted by a clock that was ahead', async () => {
    const ahead = await noticed()
    await accept(ahead.id)
    await pool.query(
      `update onceward.server_incarnation set timeline = timeline + 1, accepted_at = clock_timestamp() + interval '5 minutes' where id = $1`,
      [ahead.id],
    )
    await assert.rejects(new ServerIncarnation().check(pool), { code: 'server_changed' })
    const { rows } = await pool.query('select id from onceward.server_incarnation where accepted_at is null')
    await accept(rows[0].id)
    await new ServerIncarnation().check(pool)
  })

  it('a heartbeat from a clock that is ahead does not report too late a time', async () => {
    await pool.query(`
      insert into onceward.consumer (name, generation, owner, risk, dedup) values ('facts', 1, 'tests', 'money', 'marker');
      insert into onceward.run (consumer_id, instance, handler_version, mode, deliveries_max, started_at, heartbeat_at)
        select id, 'sound', '1', 'live', 1, '2026-01-01 00:00Z', '2026-01-01 01:00Z' from onceward.consumer;
      insert into onceward.run (consumer_id, instance, handler_version, mode, deliveries_max, started_at, heartbeat_at)
        select id, 'ahead', '1', 'live', 1, '2026-01-01 00:00Z', clock_timestamp() + interval '1 year' from onceward.consumer`)
    const life = await noticed()
    assert.equal(life.complete_until.toISOString(), '2026-01-01T01:00:00.000Z')
    await accept(life.id)
    await pool.query(
      `update onceward.run set heartbeat_at = clock_timestamp() + interval '30 seconds' where instance = 'ahead'`,
    )
    const capped = await noticed()
    const { rows } = await pool.query(
      'select complete_until <= clock_timestamp() as is_past from onceward.server_incarnation where id = $1',
      [capped.id],
    )
    assert.deepEqual(rows, [{ is_past: true }], 'a server a little behind counts it as of now')
  })
})

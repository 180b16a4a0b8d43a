import assert from 'node:assert/strict'
import { appendFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { defineConsumer, runConsumer } from 'onceward'
import { createPool, createQueue, migrate } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { People } from '../../onceward/test/parking/people.ts'
import { factContract, facts } from '../../onceward/test/replay/scene.ts'
import { createDatabase, skipWithout } from '../../onceward/test/services/services.ts'
import { type ServedConsole, serveConsole } from '../src/server/serve-console.ts'
import { Client } from './bench/client.ts'

const consumer = 'facts'

/** docs/console-platform.md says which rights the steps need; this login has those for all but the swap. */
describe('a login for campaigns that is no member of the schema owner', await skipWithout('postgres'), () => {
  let database: Awaited<ReturnType<typeof createDatabase>>
  let pool: ReturnType<typeof createPool>
  let people: People
  let folder: string
  let served: ServedConsole
  let ann: Client
  let bob: Client

  before(async () => {
    database = await createDatabase()
    pool = createPool(database.url, { max: 4 })
    await migrate(pool)
    await pool.query('select onceward.create_roles()')
    await pool.query(`
      create table effect (id text primary key, times integer not null default 1, mode text not null);
      insert into onceward.person (role_name) values ('ann'), ('bob')`)
    await createQueue(pool, 'out')
    people = new People(pool, database.url)
    const desk = await people.login(['onceward_console'], { person: false })
    const runner = await people.login(['onceward_run', 'onceward_console'], { person: false })
    await pool.query(`alter table effect owner to ${runner.name};
      grant create on database ${new URL(database.url).pathname.slice(1)} to ${runner.name};
      grant create on schema public to ${runner.name}`)
    folder = await mkdtemp(join(tmpdir(), 'onceward-console-'))
    const path = join(folder, 'facts.jsonl')
    await appendFile(
      path,
      facts(20)
        .map(fact => `${JSON.stringify(fact)}\n`)
        .join(''),
    )
    const contract = defineConsumer(factContract(path, { risk: 'money' }))
    const running = await runConsumer(contract, { databaseUrl: database.url, parts: ['consumer'] })
    await running.finished
    served = await serveConsole({
      database: desk.url,
      port: 0,
      auth: { kind: 'link' },
      contracts: [contract as never],
      campaigns: { database: runner.url },
    })
    ann = await Client.signIn(served.linkFor('ann'))
    bob = await Client.signIn(served.linkFor('bob'))
  })
  after(async () => {
    await served?.close()
    await people?.close()
    await pool?.end()
    await database?.drop()
    await rm(folder, { recursive: true, force: true })
  })

  const verified = async (mode: string) => {
    const selection = { of: 'log', start: 'first', end: 'next' }
    const { id } = (await ann.post('campaigns', { consumer, mode, because: `a ${mode}`, selection })).body
    const previewed = await ann.post(`campaigns/${id}/preview`, { dryRun: false })
    const { planDigest } = previewed.body.campaign
    await bob.post(`campaigns/${id}/approve`, { planDigest, because: 'read it' })
    const run = await ann.post(`campaigns/${id}/run`)
    assert.equal(run.status, 200, run.text)
    await until('it has run', async () => (await ann.get(`campaigns/${id}`)).body.campaign.state === 'ran')
    assert.equal((await ann.post(`campaigns/${id}/verify`)).body.complete, true)
    return id as string
  }

  it('runs a replay', async () => {
    const id = await verified('replay')
    assert.equal((await ann.post(`campaigns/${id}/finish`)).body.state, 'finished')
  })

  it('runs and compares a rebuild, and cannot swap it: nothing is changed', async () => {
    const id = await verified('rebuild')
    const [table] = (await ann.get(`campaigns/${id}/compare`)).body.tables
    assert.deepEqual([table.table, table.different], ['public.effect', 0])
    const swap = await ann.post(`campaigns/${id}/swap`, { because: 'ready' })
    assert.deepEqual([swap.status, swap.body.error.code], [403, 'database_rights'], swap.text)
    assert.equal((await ann.get(`campaigns/${id}`)).body.campaign.state, 'verified')
    const { rows } = await pool.query('select count(*)::int from effect')
    assert.equal(rows[0].count, 20)
    assert.equal((await ann.post(`campaigns/${id}/cancel`, { because: 'no right' })).body.state, 'cancelled')
  })
})

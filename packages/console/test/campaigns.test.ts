import assert from 'node:assert/strict'
import { appendFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type Consumer, defineConsumer, runConsumer, type SqlTransaction } from 'onceward'
import { createPool, createQueue, migrate } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { People } from '../../onceward/test/parking/people.ts'
import { type Fact, factContract, facts } from '../../onceward/test/replay/scene.ts'
import { createDatabase, skipWithout } from '../../onceward/test/services/services.ts'
import { type ServedConsole, serveConsole } from '../src/server/serve-console.ts'
import { Client } from './bench/client.ts'

const consumer = 'facts'
const log = { of: 'log', start: 'first', end: 'next' }

describe('campaigns in the console', await skipWithout('postgres'), () => {
  let database: Awaited<ReturnType<typeof createDatabase>>
  let pool: ReturnType<typeof createPool>
  let people: People
  let folder: string
  let contract: Consumer<Fact, SqlTransaction>
  let served: ServedConsole
  let bare: ServedConsole
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
    // A swap writes what people closed, so the login for campaigns is a member of the owner of the schema.
    const runner = await people.login(['onceward_run', 'onceward_console'], { person: false })
    await pool.query(`alter table effect owner to ${runner.name};
      grant create on database ${new URL(database.url).pathname.slice(1)} to ${runner.name};
      grant create on schema public to ${runner.name};
      grant ${new URL(database.url).username} to ${runner.name}`)
    folder = await mkdtemp(join(tmpdir(), 'onceward-console-'))
    const path = join(folder, 'facts.jsonl')
    await appendFile(
      path,
      facts(60)
        .map(fact => `${JSON.stringify(fact)}\n`)
        .join(''),
    )
    contract = defineConsumer(factContract(path, { risk: 'money' }))
    const running = await runConsumer(contract, { databaseUrl: database.url, parts: ['consumer'] })
    await running.finished
    await pool.query(`update effect set times = 7 where id < 'f00010'`)
    const options = {
      database: desk.url,
      port: 0,
      auth: { kind: 'link' as const },
      contracts: [contract as never],
    }
    served = await serveConsole({ ...options, campaigns: { database: runner.url } })
    bare = await serveConsole(options)
    ann = await Client.signIn(served.linkFor('ann'))
    bob = await Client.signIn(served.linkFor('bob'))
  })
  after(async () => {
    await served?.close()
    await bare?.close()
    await people?.close()
    await pool?.end()
    await database?.drop()
    await rm(folder, { recursive: true, force: true })
  })

  const show = async (id: string) => (await ann.get(`campaigns/${id}`)).body
  const created = async (mode: string, more: object = {}) => {
    const { status, body } = await ann.post('campaigns', {
      consumer,
      mode,
      because: `a ${mode}`,
      selection: log,
      ...more,
    })
    assert.equal(status, 200, JSON.stringify(body))
    return body.id as string
  }
  const previewed = async (id: string) => {
    const { status, body } = await ann.post(`campaigns/${id}/preview`, { dryRun: false })
    assert.equal(status, 200, JSON.stringify(body))
    return body
  }
  const actors = async (id: string): Promise<[string, string][]> =>
    (await show(id)).events.map(({ did, actor }: Record<string, string>) => [
      did,
      actor!.replace(/ \(via .*/, ''),
    ])

  it('are created and previewed as the person; another person approves the plan; then they run', async () => {
    const id = await created('replay')
    assert.deepEqual((await show(id)).acts, ['preview', 'cancel'])
    const dry = await ann.post(`campaigns/${id}/preview`, { dryRun: true })
    assert.equal(dry.body.campaign.state, 'created')
    const { campaign, extent } = await previewed(id)
    assert.ok(extent > 0)
    assert.equal(campaign.needsApproval, true)

    const early = await ann.post(`campaigns/${id}/run`)
    assert.equal(early.status, 409)
    assert.match(early.body.error.message, /approv/)
    const approval = { planDigest: campaign.planDigest, because: 'looked at it' }
    const own = await ann.post(`campaigns/${id}/approve`, approval)
    assert.match(own.body.error.message, /another person has to approve/)
    assert.equal(
      (await bob.post(`campaigns/${id}/approve`, { ...approval, planDigest: '0'.repeat(64) })).status,
      409,
    )
    assert.equal((await bob.post(`campaigns/${id}/approve`, approval)).status, 200)

    assert.equal((await ann.post(`campaigns/${id}/run`)).status, 200)
    await until('it has run', async () => (await show(id)).campaign.state === 'ran')
    const { progress } = await show(id)
    assert.deepEqual([progress.outcomes, progress.done], [{ duplicate: 60 }, progress.extent])
    assert.equal((await ann.post(`campaigns/${id}/verify`)).body.complete, true)
    assert.equal((await ann.post(`campaigns/${id}/finish`)).body.state, 'finished')
    assert.deepEqual(await actors(id), [
      ['created', 'ann'],
      ['previewed', 'ann'],
      ['approved', 'bob'],
      ['running', 'ann'],
      ['ran', 'ann'],
      ['verified', 'ann'],
      ['finished', 'ann'],
    ])
  })

  it('rebuild: compare, swap with a reason, roll back', async () => {
    const id = await created('rebuild')
    const { campaign } = await previewed(id)
    await bob.post(`campaigns/${id}/approve`, { planDigest: campaign.planDigest, because: 'looked at it' })
    assert.equal((await ann.post(`campaigns/${id}/run`)).status, 200)
    await until('it has run', async () => (await show(id)).campaign.state === 'ran')
    await ann.post(`campaigns/${id}/verify`)
    const [table] = (await ann.get(`campaigns/${id}/compare`)).body.tables
    assert.equal(table.table, 'public.effect')
    assert.equal(table.different, 10)
    assert.equal(
      (await show(id)).commands.swap,
      `onceward replay swap facts.ts ${id} --consumer facts --because '…'`,
    )
    const refused = await ann.post(`campaigns/${id}/swap`, { because: 'spoilt rows' })
    assert.equal(refused.status, 409, refused.text)
    const swapped = await ann.post(`campaigns/${id}/swap`, { because: 'spoilt rows', accept: ['effect'] })
    assert.equal(swapped.status, 200, swapped.text)
    const { events, commands } = await show(id)
    assert.deepEqual(JSON.parse(events.at(-1).detail), {
      because: 'spoilt rows',
      acceptMissing: false,
      acceptUnknown: false,
      accept: { effect: 'spoilt rows' },
    })
    assert.equal(commands.rollback, `onceward replay rollback facts.ts ${id} --consumer facts`)
    const sum = async () => (await pool.query('select sum(times)::int as n from effect')).rows[0].n
    assert.equal(await sum(), 60)
    assert.equal((await ann.post(`campaigns/${id}/rollback`)).body.campaign.state, 'cancelled')
    assert.equal(await sum(), 120)
    assert.deepEqual((await actors(id)).slice(-2), [
      ['swapped', 'ann'],
      ['cancelled', 'ann'],
    ])
  })

  it('without a login for campaigns: planned and approved, with the command that runs them', async () => {
    const desk = await Client.signIn(bare.linkFor('ann'))
    const { id } = (
      await desk.post('campaigns', { consumer, mode: 'forensic', because: 'look', selection: log })
    ).body
    await desk.post(`campaigns/${id}/preview`, { dryRun: false })
    const shown = (await desk.get(`campaigns/${id}`)).body
    assert.equal(shown.canRun, false)
    assert.equal(shown.commands.run, `onceward replay run facts.ts ${id}`)
    const run = await desk.post(`campaigns/${id}/run`)
    assert.deepEqual([run.status, run.body.error.code], [409, 'no_campaign_login'])
    assert.match(run.body.error.message, /Run: onceward replay run facts\.ts/)
    const cancelled = await desk.post(`campaigns/${id}/cancel`, { because: 'not needed' })
    assert.equal(cancelled.body.state, 'cancelled')
    const { rows } = await pool.query(
      `select action, reason from onceward.audit where outcome = 'refused' order by seq desc limit 1`,
    )
    assert.equal(rows[0].action, 'console: replay run')
  })

  it('refuses what the contract or the browser may not ask for, and audits it', async () => {
    const wrong = await ann.post('campaigns', {
      consumer,
      mode: 'replay',
      because: 'x',
      selection: { of: 'file', path: '/etc/passwd' },
    })
    assert.equal(wrong.status, 400)
    const repair = await ann.post('campaigns', { consumer, mode: 'repair', because: 'x', selection: log })
    assert.match(repair.body.error.message, /a repair needs keys/)
    const [refusal] = (await ann.get('audit?limit=1')).body.rows
    assert.deepEqual([refusal.action, refusal.outcome], ['console: replay create', 'refused'])
    assert.equal((await ann.get('campaigns/999999')).status, 404)
    assert.ok((await ann.get(`campaigns?consumer=${consumer}`)).body.campaigns.length >= 3)
  })
})

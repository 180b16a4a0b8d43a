import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { createPool, migrate } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { createDatabase, skipWithout } from '../../onceward/test/services/services.ts'
import { createConsole } from '../src/server/create-console.ts'
import type { Console } from '../src/server/options.ts'
import { Client } from './bench/client.ts'
import { type Incident, openIncident } from './bench/incident.ts'

const secret = 'a secret of the proxy, long enough'
const origin = 'http://localhost:4400'
const consumer = 'invoice_booking'

describe('what needs attention', await skipWithout('postgres'), () => {
  let incident: Incident
  let desk: Console
  let all: Client
  let team: Client

  before(async () => {
    incident = await openIncident({ persons: ['all', 'team'] })
    const { default: contract } = await import('../../../examples/09-parking-drill/invoice-booking.ts')
    desk = createConsole({
      database: incident.consoleUrl,
      contracts: [contract as never],
      auth: {
        kind: 'proxy',
        secret,
        origin,
        grants: [
          { group: 'all', roles: ['admin'] },
          { group: 'team', roles: ['operator'], scope: { consumers: [consumer] } },
        ],
      },
    })
    all = await as('all')
    team = await as('team')
    await addManyOfAnother()
  })
  after(async () => {
    await desk?.close()
    await incident?.close()
  })

  const as = async (name: string) => {
    const headers = {
      'x-onceward-proxy-secret': secret,
      'x-forwarded-user': name,
      'x-forwarded-groups': name,
    }
    const client = new Client(origin, headers, request => desk.fetch(request))
    await client.start()
    return client
  }
  /** Of another team, and newer than what this one has, or older where the oldest come first. */
  const addManyOfAnother = async () => {
    const { pool } = incident
    const { rows } = await pool.query(`select min(id)::text as id from onceward.held`)
    const selection = (await team.post('selections', { consumer, ids: [rows[0].id] })).body.id
    const asked = await team.post(`selections/${selection}/delete`, { because: 'personal data' })
    assert.equal(asked.status, 200, asked.text)
    const planned = await team.post('campaigns', {
      consumer,
      mode: 'replay',
      because: 'the account was opened',
      selection: { of: 'parked', keys: ['south'] },
    })
    assert.equal(planned.status, 200, planned.text)
    assert.equal((await team.post(`campaigns/${planned.body.id}/preview`, { dryRun: false })).status, 200)
    await pool.query(
      `
      insert into onceward.consumer (name, generation, owner, risk) values ('other', 1, 'others', 'money');
      insert into onceward.run (consumer_id, instance, handler_version, mode)
        select id, 'a test', '1', 'live' from onceward.consumer where name = 'other';
      alter table onceward.approval disable trigger user;
      insert into onceward.approval (verb, consumer_id, held_ids, digest, reason, requested_by, requested_at, expires_at)
        select a.verb, o.id, a.held_ids, a.digest, 'many', 'cy', a.requested_at, a.expires_at
        from onceward.approval a, onceward.consumer o, generate_series(1, 1100) where o.name = 'other';
      alter table onceward.approval enable trigger user;
      alter table onceward.campaign disable trigger user;
      insert into onceward.campaign select copy.* from onceward.campaign c, generate_series(1, 250) n, jsonb_populate_record(c,
        jsonb_build_object('id', 1000 + n, 'consumer_name', 'other')) copy where c.consumer_name = '${consumer}'`.replace(
        'insert into onceward.campaign select',
        'insert into onceward.campaign overriding system value select',
      ),
    )
    await pool.query('alter table onceward.campaign enable trigger user')
    await pool.query(`
      insert into onceward.ledger (consumer_name, target, effect_key, state, attempts, due_at, created_at, last_attempt_at,
        doubt_since, run_id, message_id, request_digest, content_type, body)
      select case when n = 600 then '${consumer}' else 'other' end, 'gateway', 'e-' || n, 'unknown', 1, 'infinity',
        clock_timestamp(), clock_timestamp(), clock_timestamp(), (select min(id) from onceward.run), 'm-' || n,
        sha256(n::text::bytea), 'application/json', '\\x7b7d' from generate_series(1, 600) n`)
  }
  const texts = async (client: Client): Promise<readonly string[]> =>
    (await client.get('overview')).body.attention.map(({ text }: { text: string }) => text)

  it('has deletions, fixes and campaigns that wait for a second person', async () => {
    await until('the overview is of now', async () =>
      (await texts(team)).includes('A campaign waits for a second person'),
    )
    assert.ok((await texts(team)).includes('A deletion waits for a second person'))
    assert.equal((await team.get('overview')).body.approvals, 2)
    assert.ok((await texts(all)).includes('1,100 deletions wait for a second person'))
    assert.equal((await all.get('overview')).body.approvals, 1_352)
  })

  it('shows a team its own, however many others have', async () => {
    const { approvals } = (await team.get('approvals')).body
    assert.deepEqual(
      approvals.map((one: { consumer: string; state: string }) => [one.consumer, one.state]),
      [[consumer, 'requested']],
    )
    assert.equal((await team.get(`approvals/${approvals[0].id}`)).status, 200)
    assert.equal((await team.get('campaigns')).body.campaigns.length, 1)
    assert.equal((await team.get('campaigns')).body.campaigns[0].waitsForApproval, true)
    const { effects } = (await team.get('ledger')).body
    assert.deepEqual(
      effects.map(({ key }: { key: string }) => key),
      ['e-600'],
    )
  })

  it('has a copy of the database that must be accepted, first', async t => {
    // A database of its own: every consumer halts for it.
    const copy = await createDatabase()
    const pool = createPool(copy.url, { max: 1 })
    t.after(async () => {
      await pool.end()
      await copy.drop()
    })
    await migrate(pool)
    await pool.query(
      `insert into onceward.server_incarnation (system_identifier, timeline, database_oid, reason) values ('1', 9, 0, 'a restore')`,
    )
    const alone = createConsole({ database: copy.url, auth: { kind: 'link' } })
    t.after(() => alone.close())
    const client = new Client('http://localhost', {}, request => alone.fetch(request))
    await client.post('sign-in', { token: alone.signInLink('ann').split('#link=')[1] })
    const [first] = (await client.get('overview')).body.attention
    assert.deepEqual([first.severity, first.page], ['critical', 'decisions'])
    assert.match(first.text, /^This copy of the database must be accepted; .*\(a restore\)$/)
  })

  it('shows what consumers did in whole minutes', async () => {
    await incident.pool.query(`
      delete from onceward.sample;
      insert into onceward.sample (consumer_id, slot, minute, applied, duplicates, set_aside, failed, lag, pending)
      select c.id, (extract(epoch from m) / 60)::bigint % 64, m, 60, 0, 0, 0, 5, 0 from onceward.consumer c,
        generate_series(date_trunc('minute', clock_timestamp()) - interval '5 minutes', clock_timestamp() + interval '2 minutes', '1 minute') m
      where c.name = 'other'
      on conflict do nothing`)
    const series = async () => (await all.get('rates?consumer=other')).body.consumers[0]
    await until('the rates are of now', async () => (await series())?.applied.at(-2) === 60)
    const { applied, lag } = await series()
    assert.equal(applied.at(-1), null)
    assert.equal(lag.at(-1), 5)
  })
})

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createQueue, hint, publish, queueDepth } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { queue } from '../../../examples/09-parking-drill/invoice-booking.ts'
import { startTcpProxy, type TcpProxy } from '../../onceward/test/proxy/tcp-proxy.ts'
import { skipWithout } from '../../onceward/test/services/services.ts'
import type { ServedConsole } from '../src/server/serve-console.ts'
import { Client } from './bench/client.ts'
import { type Incident, openIncident } from './bench/incident.ts'

const consumer = 'invoice_booking'
const invoices = 60

describe('the console while things fail', await skipWithout('postgres'), () => {
  let incident: Incident
  let proxy: TcpProxy
  let served: ServedConsole
  let ann: Client
  let bob: Client

  before(async () => {
    incident = await openIncident()
    await createQueue(incident.pool, queue)
    await publish(
      incident.pool,
      queue,
      Array.from({ length: invoices }, (_, n) => ({
        body: { messageId: `x-${n}`, accountId: `x-${n}`, currency: 'EUR', amount: 1 },
        key: `x-${n}`,
      })),
    )
    await hint(incident.pool, queue)
    await until('all are settled', async () => (await queueDepth(incident.pool, queue)).messages === 0)
    const { hostname, port } = new URL(incident.consoleUrl)
    proxy = await startTcpProxy({ host: hostname, port: Number(port) })
    served = await incident.serve({ auth: { kind: 'link' }, database: proxy.through(incident.consoleUrl) })
    ann = await Client.signIn(served.linkFor('ann'))
    bob = await Client.signIn(served.linkFor('bob'))
  })
  after(async () => {
    await incident?.close()
    await proxy?.close()
  })

  const idsOf = async (q: string) =>
    (await ann.get(`messages?q=${encodeURIComponent(q)}&limit=200`)).body.rows.map(
      (row: { id: string }) => row.id,
    ) as string[]
  const freeze = async (client: Client, ids: readonly string[]) =>
    (await client.post('selections', { consumer, ids })).body.id as string
  const keyed = () => ({ 'idempotency-key': randomUUID() })
  const doneActs = async (action: string) =>
    Number(
      (
        await incident.pool.query(
          `select count(*) from onceward.audit where action = $1 and outcome = 'done'`,
          [action],
        )
      ).rows[0].count,
    )

  it('says that the database is away, with 503, and does the act once when it is back', async () => {
    const selection = await freeze(ann, [(await idsOf('message:x-0'))[0]!])
    const before = await doneActs('parked skip')
    proxy.refuse()
    proxy.cut()
    const key = keyed()
    for (const _ of [1, 2]) {
      const away = await ann.post(`selections/${selection}/skip`, { because: 'a test' }, key)
      assert.deepEqual([away.status, away.body.error.code], [503, 'database_unavailable'])
      assert.match(away.body.error.message, /Repeat the request under the same key: it is done once/)
      assert.equal(away.headers.get('retry-after'), '2')
    }
    assert.equal((await ann.get('overview')).body.error.code, 'database_unavailable')
    assert.equal((await ann.get('session')).status, 200)
    proxy.accept()
    await until('it answers again', async () => (await ann.get('overview')).status === 200)
    const done = await ann.post(`selections/${selection}/skip`, { because: 'a test' }, key)
    assert.deepEqual(done.body, { ok: true, closed: 1, freed: 0 })
    assert.equal((await doneActs('parked skip')) - before, 1)
  })

  it('does not repeat an act whose commit was not answered', async () => {
    const id = (await idsOf('message:x-1'))[0]!
    const selection = await freeze(ann, [id])
    const before = await doneActs('parked skip')
    const key = keyed()
    let isNext = false
    proxy.toServer(bytes => {
      if (isNext && bytes.includes('commit')) proxy.toClient(() => null)
      isNext ||= bytes.includes('onceward.end_act')
      return bytes
    })
    const lost = ann.post(`selections/${selection}/skip`, { because: 'a test' }, key)
    await until('the act is committed', async () => (await doneActs('parked skip')) === before + 1)
    proxy.toServer(null)
    proxy.cut()
    proxy.toClient(null)
    const unknown = await lost
    assert.deepEqual([unknown.status, unknown.body.error.code], [503, 'database_unavailable'])
    const again = await ann.post(`selections/${selection}/skip`, { because: 'a test' }, key)
    assert.deepEqual(again.body, { ok: true, closed: 1, freed: 0, repeated: true })
    assert.equal((await doneActs('parked skip')) - before, 1)
    const other = await ann.post(`selections/${selection}/skip`, { because: 'a test' }, keyed())
    assert.equal(other.status, 409)
  })

  it('lets one of two operators win, and shows the other what happened', async () => {
    const ids = await idsOf(`consumer:${consumer} code:no_account`)
    const [few, rest] = [ids.slice(0, 10), ids.slice(10, 20)]
    const frozen = await Promise.all([ann, bob].map(client => freeze(client, few)))
    const skips = await Promise.all(
      [ann, bob].map((client, n) =>
        client.post(`selections/${frozen[n]}/skip`, { because: 'both' }, keyed()),
      ),
    )
    assert.deepEqual(skips.map(({ status }) => status).sort(), [200, 409])
    assert.equal(skips.find(({ status }) => status === 200)!.body.closed, 10)
    assert.match(
      skips.find(({ status }) => status === 409)!.body.error.message,
      /Some of these rows do not exist|selection has changed/,
    )

    const selections = await Promise.all([ann, bob].map(client => freeze(client, rest)))
    const redrives = await Promise.all(
      [ann, bob].map((client, n) =>
        client.post(`selections/${selections[n]}/redrive`, { because: 'both', ramp: false }, keyed()),
      ),
    )
    const shown = async () =>
      Promise.all(
        redrives
          .filter(({ status }) => status === 200)
          .map(async ({ body }) => (await ann.get(`redrives/${body.requestId}`)).body),
      )
    await until('both have ended', async () =>
      (await shown()).every(({ state, outcomes }) => state === 'moved' && outcomes.waits === undefined),
    )
    const { rows } = await incident.pool.query(
      `select held_id from onceward.redrive_row r join onceward.redrive d on d.id = r.redrive_id
       where d.reason = 'both' and r.state = 'moved' group by held_id having count(*) > 1`,
    )
    assert.deepEqual(rows, [], 'no row was moved twice')
    const moved = await incident.pool.query(
      `select count(*)::int as n from onceward.redrive_row r join onceward.redrive d on d.id = r.redrive_id
       where d.reason = 'both' and r.state = 'moved'`,
    )
    assert.equal(moved.rows[0].n, 10)
    const left = (await shown()).flatMap(({ rows: all }) => all).filter(row => row.outcome === 'left')
    for (const row of left)
      assert.match(row.why, /is done, or another operator|already being processed|already/)
  })

  it('continues a redrive of a console that was killed, and moves nothing twice', async t => {
    const child = spawn(
      process.execPath,
      [
        ...process.execArgv,
        fileURLToPath(new URL('bench/desk-process.ts', import.meta.url)),
        incident.consoleUrl,
        'ann',
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    )
    t.after(() => child.kill('SIGKILL'))
    const [line] = await once(child.stdout!, 'data')
    const dying = await Client.signIn(String(line).trim())
    await incident.pool.query(
      `insert into account (id) select 'x-' || n from generate_series(0, ${invoices}) n`,
    )
    const q = `consumer:${consumer} code:no_account`
    const before = (await incident.booked()).length
    const selection = (await dying.post('selections', { consumer, q })).body
    const key = randomUUID()
    const { requestId } = (
      await dying.post(
        `selections/${selection.id}/redrive`,
        { because: 'accounts opened', ramp: false, perSecond: 4 },
        { 'idempotency-key': key },
      )
    ).body
    assert.equal(requestId, `console-${key}`)
    await until('it has begun', async () => (await incident.booked()).length > before)
    child.kill('SIGKILL')
    await once(child, 'exit')
    const redrive = async () => (await ann.get(`redrives/${requestId}`)).body
    const stopped = await redrive()
    assert.equal(stopped.state, 'moving')
    assert.equal(stopped.conducted, false)
    assert.ok(stopped.outcomes.waits > 0, JSON.stringify(stopped.outcomes))
    await incident.pool.query('update onceward.redrive set rate_max = null where request_id = $1', [
      requestId,
    ])
    const more = { because: 'the console died', ramp: false }
    assert.equal((await bob.post(`redrives/${requestId}/continue`, more)).status, 200)
    await until('all are applied', async () => (await redrive()).outcomes.waits === undefined)
    const { rows } = await incident.pool.query(
      `select count(*)::int as n, count(distinct invoice_id)::int as different from booking where invoice_id like 'x-%'`,
    )
    assert.equal(rows[0].n, rows[0].different)
    const { rows: twice } = await incident.pool.query(
      `select held_id from onceward.redrive_row r join onceward.redrive d on d.id = r.redrive_id
       where d.request_id = $1 group by held_id having count(*) > 1`,
      [requestId],
    )
    assert.deepEqual(twice, [])
    assert.deepEqual((await ann.get('audit/verify')).body.problems, [])
  })
})

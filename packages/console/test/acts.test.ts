import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { until } from 'onceward/testing'
import { skipWithout } from '../../onceward/test/services/services.ts'
import type { ServedConsole } from '../src/server/serve-console.ts'
import { addOtherTeams } from './bench/busy-database.ts'
import { Client } from './bench/client.ts'
import { Documented } from './bench/documented.ts'
import { type Incident, openIncident } from './bench/incident.ts'

const consumer = 'invoice_booking'

/** One test for each act that succeeds; refusals are in grants.test.ts and rights.test.ts. */
describe('an act of the console', await skipWithout('postgres'), () => {
  let incident: Incident
  let served: ServedConsole
  let ann: Client
  let documented: Documented

  before(async () => {
    incident = await openIncident()
    await addOtherTeams(incident)
    served = await incident.serve({ auth: { kind: 'link' } })
    ann = await Client.signIn(served.linkFor('ann'))
    documented = await Documented.watch(ann)
  })
  after(() => incident?.close())

  const rowsOf = async (query: string, values: unknown[] = []) =>
    (await incident.pool.query(query, values)).rows

  /** Does it twice under one key: the second time changes nothing, and the audit has it once, as ann. */
  const acted = async (path: string, body: object, action: string) => {
    const because = `a reason ${randomUUID()}`
    const key = { 'idempotency-key': randomUUID() }
    const first = await ann.post(path, { ...body, because }, key)
    assert.equal(first.status, 200, `${path} ${first.text}`)
    const again = await ann.post(path, { ...body, because }, key)
    assert.deepEqual([again.status, again.body.repeated], [200, true], `${path} ${again.text}`)
    const audited = await rowsOf('select action, outcome, actor from onceward.audit where reason = $1', [
      because,
    ])
    assert.deepEqual(
      audited.map(row => [row.action, row.outcome, row.actor.replace(/ \(via test_.*/, '')]),
      [[action, 'done', 'ann (via link)']],
    )
    return first.body
  }
  const effects = async () =>
    (await ann.get('ledger')).body.effects as { id: string; state: string; target: string }[]
  const effect = async (id: string) => (await ann.get(`ledger/${id}`)).body

  it('records that a call with an unknown outcome happened, or did not', async () => {
    const [happened, notDone, ...rest] = (await effects()).filter(({ state }) => state === 'unknown')
    assert.ok(rest.length > 0)
    const done = await acted(`ledger/${happened!.id}/reconcile`, { as: 'completed' }, 'ledger reconcile')
    assert.equal(done.state, 'completed')
    const failed = await acted(`ledger/${notDone!.id}/reconcile`, { as: 'not done' }, 'ledger reconcile')
    assert.equal(failed.state, 'failed')
    const ids = (await effects()).map(({ id }) => id)
    assert.deepEqual([ids.includes(happened!.id), ids.includes(rest[0]!.id)], [false, true])
    const shown = await effect(happened!.id)
    assert.deepEqual([shown.state, shown.actions.length], ['completed', 1], JSON.stringify(shown))
  })

  it('makes a call due again, which stays in doubt until its target decides', async () => {
    const { id } = (await effects()).find(({ state }) => state === 'unknown')!
    const before = await effect(id)
    assert.equal(before.state, 'unknown')
    const retried = await acted(`ledger/${id}/retry`, {}, 'ledger retry')
    assert.equal(retried.state, 'unknown')
    const [due] = await rowsOf(
      'select due_at <= clock_timestamp() as now from onceward.ledger where id = $1',
      [id],
    )
    assert.equal(due.now, true)
  })

  it('drops a message that its broker refuses, and names what it was', async () => {
    const [stuck] = (await ann.get('outbox')).body.stuck
    const other = await ann.post(`outbox/${stuck.id}/drop`, { messageId: 'other', because: 'x' })
    assert.equal(other.status, 409)
    const dropped = await acted(`outbox/${stuck.id}/drop`, { messageId: stuck.messageId }, 'outbox drop')
    assert.deepEqual([dropped.kind, dropped.queue], [stuck.kind, stuck.queue])
    assert.deepEqual((await ann.get('outbox')).body.stuck, [])
  })

  it('accepts a loss as it was shown, and no other', async () => {
    const open = async () => (await ann.get('decisions')).body.losses[0]
    const { id, consumer: of, digest, records } = await open()
    assert.equal(records, 773)
    await rowsOf('update onceward.loss set records = records + 1 where id = $1', [id])
    const path = `decisions/losses/${id}/accept`
    const changed = await ann.post(path, { consumer: of, digest, because: 'seen' })
    assert.equal(changed.status, 409)
    const now = await open()
    assert.notEqual(now.digest, digest)
    const accepted = await acted(path, { consumer: of, digest: now.digest }, 'losses accept')
    assert.equal(accepted.state, 'accepted')
    assert.match((await open()).acceptedBy, /^ann /)
  })

  it('adds a broker, allows a second reader, and renames a consumer that does not run', async () => {
    await acted('decisions/brokers/accept', { kind: 'kafka', cluster: 'the-new-one' }, 'brokers accept')
    const { brokers } = (await ann.get('decisions')).body
    assert.ok(brokers.some(({ cluster }: { cluster: string }) => cluster === 'the-new-one'))

    const two = { name: 'parcel_mirror', from: 'parcel_tracking' }
    await acted('decisions/names/separate', two, 'consumers separate')
    const { readers } = (await ann.get('decisions')).body
    const source = (name: string) =>
      readers.find((reader: { consumer: string }) => reader.consumer === name)?.place
    assert.equal(source('parcel_mirror'), source('parcel_tracking'))

    const running = { from: 'parcel_tracking', to: 'parcels', because: 'a better name' }
    assert.equal((await ann.post('decisions/names/rename', running)).status, 409)
    await rowsOf('update onceward.run set ended_at = clock_timestamp() where heartbeat_at < now()')
    const renamed = await acted(
      'decisions/names/rename',
      { from: 'stock_levels', to: 'stock' },
      'consumers rename',
    )
    assert.equal(renamed.ok, true)
    await until('the page has the new name', async () => (await ann.get('consumers/stock')).status === 200)
    assert.equal((await ann.get('consumers/stock_levels')).status, 404)
  })

  it('releases a paused event type', async () => {
    await rowsOf(`
      insert into onceward.brake (consumer_id, run_id, message_type, cause, messages, handler_version)
      select c.id, min(r.id), 'CaptureRequested', 'a cause', 20, '1' from onceward.consumer c
      join onceward.run r on r.consumer_id = c.id where c.name = 'payment_capture' group by c.id`)
    const brakes = async () => (await ann.get('consumers/payment_capture')).body.brakes
    await until('the page has the pause', async () => (await brakes()).length === 1)
    await acted('consumers/payment_capture/brakes/release', { type: 'CaptureRequested' }, 'brakes release')
    await until('it is gone from the page', async () => (await brakes()).length === 0)
  })

  it('sets messages aside, so that a redrive of parked messages leaves them out', async () => {
    const select = async (q: string) => (await ann.post('selections', { consumer, q })).body
    const { id, count } = await select('message:east-1 state:parked')
    const { count: all } = await select('state:parked')
    const { quarantined } = await acted(`selections/${id}/quarantine`, {}, 'parked quarantine')
    assert.deepEqual([count, quarantined], [1, 1])
    assert.equal((await select('state:parked')).count, all - 1)
    const [row] = (await ann.get('messages?q=message:east-1 consumer:invoice_booking')).body.rows
    assert.equal(row.state, 'quarantined')
  })

  it('stops a redrive between two stages, and says so on its page', async () => {
    const asked = { consumer: 'payment_capture', q: 'state:parked' }
    const { id, count } = (await ann.post('selections', asked)).body
    assert.equal(count, 128)
    const started = await acted(`selections/${id}/redrive`, { ramp: false, perSecond: 1 }, 'parked redrive')
    const path = `redrives/${started.requestId}`
    const stopped = await ann.post(`${path}/stop`, { because: 'wait for the bank' })
    assert.equal(stopped.status, 200, stopped.text)
    const { state, outcomes } = (await ann.get(path)).body
    assert.equal(state, 'stopped')
    assert.ok(outcomes.waits > 100, JSON.stringify(outcomes))
    assert.equal((await ann.post(`${path}/stop`, { because: 'again' })).status, 409)
  })

  it('notes a fix made elsewhere, and classifies', async () => {
    const q = 'consumer:invoice_booking message:west-1'
    const row = async () => (await ann.get(`messages?q=${q}`)).body.rows[0]
    const { id } = await row()
    await acted(`messages/${id}/note-fix`, { consumer }, 'parked fix')
    const { fixes } = (await ann.get(`messages/${id}`)).body
    assert.deepEqual([fixes.length, fixes[0].kind], [1, 'state'])
    const selection = (await ann.post('selections', { consumer, ids: [id] })).body.id
    const given = { label: 'bank', assignee: 'bob', note: 'asked the bank' }
    assert.deepEqual((await ann.post(`selections/${selection}/classify`, given)).body.rows, 1)
    const { label, assignee } = await row()
    assert.deepEqual([label, assignee], ['bank', 'bob'])
  })

  it('saves, lists and removes a search', async () => {
    const q = 'consumer:invoice_booking code:no_account'
    await ann.post('filters', { name: 'mine', q })
    const names = async () =>
      (await ann.get('filters')).body.filters.map((one: { name: string; q: string }) => [one.name, one.q])
    assert.deepEqual(await names(), [['mine', q]])
    assert.equal((await ann.post('filters/remove', { name: 'mine' })).body.removed, true)
    assert.deepEqual(await names(), [])
    assert.equal((await ann.post('filters/remove', { name: 'mine' })).body.removed, false)
  })

  it('accepts this copy of the database, once', async () => {
    const wrong = await ann.post('decisions/restore/abc/accept', { because: 'x' })
    assert.equal(wrong.status, 404)
    await rowsOf(`select onceward.record_incarnation('the disk was restored')`)
    const open = async () => (await ann.get('decisions')).body.restore.open
    const { id, why } = await open()
    assert.match(why, /the disk was restored/)
    await acted(`decisions/restore/${id}/accept`, {}, 'restore accept')
    assert.equal(await open(), null)
  })

  it('is answered as the document of the API says', () => {
    assert.deepEqual(documented.findings, [])
    assert.ok(documented.seen.size > 25, [...documented.seen].join(', '))
  })

  it('is one of a chain that verifies', async () => {
    assert.deepEqual((await ann.get('audit/verify')).body.problems, [])
  })
})

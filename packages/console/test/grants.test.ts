import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import invoiceBooking from '../../../examples/09-parking-drill/invoice-booking.ts'
import { skipWithout } from '../../onceward/test/services/services.ts'
import { createConsole } from '../src/server/create-console.ts'
import type { Console } from '../src/server/options.ts'
import { Client } from './bench/client.ts'
import { type Incident, openIncident } from './bench/incident.ts'

const secret = 'a secret of the proxy, long enough'
const own = 'invoice_booking'
const foreign = 'shipping_labels'
const origin = 'http://localhost:4400'

/** A second consumer, with a copy of one held message. */
async function addConsumer({ pool }: Incident): Promise<void> {
  await pool.query(
    `insert into onceward.consumer overriding system value select copy.* from onceward.consumer c, jsonb_populate_record(c,
       jsonb_build_object('id', 900, 'name', $1::text, 'owner', 'shipping')) copy where c.name = $2`,
    [foreign, own],
  )
  await pool.query(
    `insert into onceward.held overriding system value select copy.* from onceward.held h, jsonb_populate_record(h,
       jsonb_build_object('id', 900, 'consumer_id', 900, 'message_id', 'foreign-1')) copy
     where h.message_id = 'east-1'`,
  )
}

describe('a person with several grants', await skipWithout('postgres'), () => {
  let incident: Incident
  let desk: Console
  let ownId: string

  before(async () => {
    incident = await openIncident({ persons: ['ann', 'bob'] })
    await addConsumer(incident)
    const { rows } = await incident.pool.query(
      `select id::text from onceward.held where message_id = 'east-1'`,
    )
    ownId = rows[0].id
    desk = createConsole({
      database: incident.consoleUrl,
      contracts: [invoiceBooking as never],
      auth: {
        kind: 'proxy',
        secret,
        origin,
        grants: [
          { group: 'billing', roles: ['operator'], scope: { owners: ['billing'] }, payload: 'full' },
          { group: 'shipping', roles: ['operator'], scope: { owners: ['shipping'] } },
          { group: 'billing-admins', roles: ['admin'], scope: { owners: ['billing'] } },
          { group: 'all', roles: ['viewer'], payload: 'none' },
          { group: 'approvers', roles: ['approver'], payload: 'none' },
        ],
      },
    })
  })
  after(async () => {
    await desk?.close()
    await incident?.close()
  })

  const as = async (name: string, groups: string) => {
    const headers = {
      'x-onceward-proxy-secret': secret,
      'x-forwarded-user': name,
      'x-forwarded-groups': groups,
    }
    const client = new Client(origin, headers, request => desk.fetch(request))
    await client.start()
    return client
  }

  it('sees other consumers as a viewer, and acts on those of the operator grant only', async () => {
    const ann = await as('ann', 'billing,all')
    const names = (await ann.get('overview')).body.consumers.map(({ name }: { name: string }) => name)
    assert.deepEqual(names.toSorted(), [own, foreign])
    assert.equal((await ann.get('messages/900')).status, 200)
    assert.equal((await ann.post('selections', { consumer: own, ids: [ownId] })).status, 200)
    const because = 'x'
    for (const [path, body] of [
      ['selections', { consumer: foreign, ids: ['900'] }],
      ['messages/900/note-fix', { consumer: foreign, because }],
      ['messages/900/fix', { consumer: foreign, payload: '{}', because, dryRun: true }],
      [`consumers/${foreign}/brakes/release`, { type: 'x', because }],
      ['decisions/losses/1/accept', { consumer: foreign, digest: 'x', because }],
    ] as const) {
      const { status, body: answer } = await ann.post(path, body)
      assert.deepEqual([status, answer.error.code], [403, 'role'], path)
    }
  })

  it('cannot name an own consumer to act on a message of another', async () => {
    for (const [groups, status] of [
      ['billing,all', 403],
      ['billing', 404],
      ['billing,shipping', 404],
    ] as const) {
      const ann = await as('ann', groups)
      const note = await ann.post('messages/900/note-fix', { consumer: own, because: 'x' })
      const fix = { consumer: own, payload: '{}', because: 'x', dryRun: true }
      const fixed = await ann.post('messages/900/fix', fix)
      assert.deepEqual([note.status, fixed.status], [status, status], groups)
    }
  })

  it('sees payloads by the grant of their consumer, and searches only what it sees whole', async () => {
    const ann = await as('ann', 'billing,all')
    const mine = (await ann.get(`messages/${ownId}`)).body
    assert.equal(mine.payload.right, 'full')
    const others = (await ann.get('messages/900')).body
    assert.deepEqual([others.payload.right, others.payload.content, others.headers], ['none', null, null])
    assert.equal((await ann.get(`messages/${ownId}/body`)).status, 200)
    assert.equal((await ann.get('messages/900/body')).status, 403)
    const idsOf = async (path: string) =>
      (await ann.get(path)).body.rows.map(({ messageId }: { messageId: string }) => messageId)
    assert.ok((await idsOf('messages')).includes('foreign-1'))
    const found = await idsOf('messages?q=east')
    assert.ok(found.includes('east-1'))
    assert.ok(!found.includes('foreign-1'))
    assert.doesNotMatch((await ann.get('messages/export?q=east')).text, /foreign-1/)
    assert.equal((await ann.get(`messages?q=consumer:${foreign} east`)).status, 403)
  })

  it('gets no digest of a payload that it does not see whole', async () => {
    const ann = await as('ann', 'billing,all')
    const digest = /[0-9a-f]{32}/
    const { body: mine } = await ann.get(`messages/${ownId}`)
    assert.match(mine.message.bodyDigest, digest)
    const { message, story, fixes, key } = (await ann.get('messages/900')).body
    assert.equal(message.bodyDigest, '•••')
    assert.doesNotMatch(JSON.stringify({ message, story, fixes, key }), digest)
    const shipping = await as('bob', 'shipping')
    const { id } = (await shipping.post('selections', { consumer: foreign, ids: ['900'] })).body
    const asked = await shipping.post(`selections/${id}/delete`, { because: 'x' })
    assert.equal(asked.status, 200)
    const digestsFor = async (groups: string) => {
      const one = (await (await as('ann', groups)).get(`approvals/${asked.body.id}`)).body
      const { approvals } = (await (await as('ann', groups)).get('approvals')).body
      return digest.test(JSON.stringify([one, approvals]))
    }
    assert.equal(await digestsFor('billing,all'), false)
    assert.equal(await digestsFor('approvers'), true)
    const acts = (await ann.get(`audit?consumer=${foreign}`)).body.rows
    assert.ok(acts.length > 0)
    for (const { hash, ...act } of acts) {
      assert.match(hash, digest)
      assert.doesNotMatch(JSON.stringify(act), digest)
    }
    assert.equal((await shipping.post(`approvals/${asked.body.id}/decline`, { because: 'x' })).status, 200)
  })

  it('decides on what concerns no consumer only by a grant without a scope', async () => {
    const ann = await as('ann', 'billing-admins,all')
    assert.equal((await ann.get('outbox')).status, 200)
    for (const [path, body] of [
      ['outbox/1/drop', { messageId: 'x', because: 'x' }],
      ['decisions/brokers/accept', { kind: 'kafka', cluster: 'x', because: 'x' }],
      ['decisions/names/rename', { from: own, to: 'x', because: 'x' }],
    ] as const) {
      const { status, body: answer } = await ann.post(path, body)
      assert.deepEqual([status, answer.error.code], [403, 'role'], path)
    }
  })

  it('answers an id of a hidden consumer like an id that does not exist', async () => {
    const bob = await as('bob', 'billing')
    for (const path of ['messages/ID', 'messages/ID/body']) {
      const hidden = await bob.get(path.replace('ID', '900'))
      const missing = await bob.get(path.replace('ID', '901'))
      assert.equal(hidden.status, 404)
      assert.equal(missing.status, 404)
      assert.equal(hidden.text.replaceAll('900', '901'), missing.text)
    }
    const shipping = await as('bob', 'shipping')
    const selected = await shipping.post('selections', { consumer: foreign, ids: ['900'] })
    const asked = { because: 'x', ramp: false }
    const redriven = await shipping.post(`selections/${selected.body.id}/redrive`, asked)
    assert.equal(redriven.status, 200)
    const { requestId } = redriven.body
    const hidden = await bob.get(`redrives/${requestId}`)
    const missing = await bob.get('redrives/none')
    assert.deepEqual([hidden.status, missing.status], [404, 404])
    assert.equal(hidden.text.replaceAll(requestId, 'none'), missing.text)
    assert.equal((await bob.get('ledger/999')).status, 404)
  })

  it('loses a frozen selection with the rights on its consumer', async () => {
    const bob = await as('bob', 'billing')
    const { id } = (await bob.post('selections', { consumer: own, ids: [ownId] })).body
    for (const act of ['skip', 'quarantine', 'delete', 'redrive', 'classify']) {
      const moved = await (await as('bob', 'shipping')).post(`selections/${id}/${act}`, { because: 'x' })
      assert.deepEqual([moved.status, moved.body.error.code], [404, 'selection_gone'], act)
      const viewer = await as('bob', 'shipping,all')
      assert.equal((await viewer.post(`selections/${id}/${act}`, { because: 'x' })).status, 403, act)
    }
    assert.equal((await bob.post(`selections/${id}/classify`, { label: 'seen' })).status, 200)
  })
})

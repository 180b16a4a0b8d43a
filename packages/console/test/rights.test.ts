import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { defineConsumer } from 'onceward'
import invoiceBooking from '../../../examples/09-parking-drill/invoice-booking.ts'
import { InvoiceReceived } from '../../../examples/09-parking-drill/messages.ts'
import { skipWithout } from '../../onceward/test/services/services.ts'
import { routes } from '../src/server/api/routes.ts'
import { createConsole } from '../src/server/create-console.ts'
import type { Console } from '../src/server/options.ts'
import type { Role } from '../src/server/rights/rights.ts'
import { Client } from './bench/client.ts'
import { type Incident, openIncident } from './bench/incident.ts'

const secret = 'a secret of the proxy, long enough'
const consumer = 'invoice_booking'
const origin = 'http://localhost:4400'
const { declared } = invoiceBooking
const masking = defineConsumer({
  ...declared,
  message: { schema: InvoiceReceived, maskedMembers: ['accountId'] },
})

describe('rights behind a proxy', await skipWithout('postgres'), () => {
  let incident: Incident
  let desk: Console

  before(async () => {
    incident = await openIncident({ persons: ['viewer', 'operator', 'approver', 'admin', 'other', 'bare'] })
    desk = createConsole({
      database: incident.consoleUrl,
      contracts: [masking as never],
      auth: {
        kind: 'proxy',
        secret,
        origin,
        grants: [
          { group: 'viewers', roles: ['viewer'] },
          { group: 'operators', roles: ['operator'] },
          { group: 'approvers', roles: ['approver'] },
          { group: 'admins', roles: ['admin'] },
          { group: 'others', roles: ['operator'], scope: { owners: ['shipping'] } },
          { group: 'bares', roles: ['operator'], scope: { owners: ['billing'] }, payload: 'none' },
        ],
      },
      maskedMembers: { [consumer]: ['currency'] },
    })
  })
  after(async () => {
    await desk?.close()
    await incident?.close()
  })

  /** As the proxy sends requests for this person. */
  const as = async (name: string, extra: Record<string, string> = {}) => {
    const headers = {
      'x-onceward-proxy-secret': secret,
      'x-forwarded-user': name,
      'x-forwarded-groups': `${name}s`,
      ...extra,
    }
    const client = new Client(origin, headers, request => desk.fetch(request))
    await client.start()
    return client
  }

  it('refuses a request without the secret of the proxy, with a wrong one, and a name alone', async () => {
    for (const headers of [
      { 'x-onceward-proxy-secret': '' },
      { 'x-onceward-proxy-secret': 'guessed guessed guessed' },
      { 'x-forwarded-user': '' },
      { 'x-forwarded-user': 'ann (via link)' },
    ] as Record<string, string>[]) {
      const client = await as('admin', headers)
      assert.equal((await client.get('overview')).status, 401)
    }
    const nobody = await as('admin', { 'x-forwarded-groups': 'guests' })
    assert.equal((await nobody.get('overview')).status, 401)
  })

  it('lets each role do exactly what its routes need', async () => {
    const allowed: Record<Role, readonly (string | null)[]> = {
      viewer: ['viewer'],
      operator: ['viewer', 'operator'],
      approver: ['viewer', 'approver'],
      admin: ['viewer', 'operator', 'approver', 'admin'],
    }
    for (const role of ['viewer', 'operator', 'approver', 'admin'] as const) {
      const client = await as(role)
      for (const route of routes.filter(({ method }) => method === 'post')) {
        const path = route.path.slice(1).replaceAll(/\{\w+\}/g, '999999')
        const { status, body } = await client.post(path, {})
        const refused = status === 403 && body.error.code === 'role'
        assert.equal(refused, !allowed[role].includes(route.role), `${role} ${route.path}: ${status}`)
      }
    }
  })

  it('hides consumers of other owners as if they did not exist', async () => {
    const other = await as('other')
    assert.deepEqual((await other.get('overview')).body.consumers, [])
    assert.deepEqual((await other.get('messages')).body.rows, [])
    const { rows } = await incident.pool.query('select min(id)::text as id from onceward.held')
    assert.equal((await other.get(`messages/${rows[0].id}`)).status, 404)
    assert.equal((await other.get(`messages/${rows[0].id}/body`)).status, 404)
    assert.equal((await other.get(`consumers/${consumer}`)).status, 404)
    assert.equal((await other.get('outbox')).status, 403)
    assert.equal((await other.post('selections', { consumer, ids: [rows[0].id] })).status, 404)
    assert.equal(
      (await other.post(`messages/${rows[0].id}/note-fix`, { consumer, because: 'x' })).status,
      404,
    )
    assert.deepEqual((await other.get('audit')).body.rows, [])
  })

  it('masks payloads, or hides them, and does not search what it hides', async () => {
    const { rows } = await incident.pool.query(
      `select id::text from onceward.held where message_id = 'east-1'`,
    )
    const path = `messages/${rows[0].id}`
    const viewer = await as('viewer')
    const masked = (await viewer.get(path)).body
    assert.deepEqual(JSON.parse(masked.payload.content), {
      messageId: 'east-1',
      accountId: '•••',
      currency: '•••',
      amount: 100,
    })
    assert.equal(masked.headers, null)
    assert.equal((await viewer.get(`${path}/body`)).status, 403)
    assert.equal((await viewer.get('messages?q=passport')).status, 403)
    assert.equal((await viewer.get('messages?q=payload.currency:USD')).status, 403)
    const bare = await as('bare')
    assert.equal((await bare.get(path)).body.payload.content, null)
    const fix = { consumer, payload: '{}', because: 'x', dryRun: true }
    assert.equal((await bare.post(`${path}/fix`, fix)).body.error.code, 'payload')
  })

  it('hides values that an error quotes: in lists, exports, stories and selections', async () => {
    const iban = 'Key (iban)=(DE02120300000000202051) already exists'
    await incident.pool.query(
      `update onceward.held set failure_class = 'permanent', reason = $1, error = $1 where message_id = 'west-1'`,
      [iban],
    )
    await incident.pool.query(
      `insert into onceward.attempt (consumer_id, run_id, message_id, number, failure_class, code, error)
       select consumer_id, run_id, message_id, 77, 'permanent', '23505', $1 from onceward.held where message_id = 'west-1'`,
      [iban],
    )
    const { rows } = await incident.pool.query(
      `select id::text from onceward.held where message_id = 'west-1'`,
    )
    const { id } = rows[0]
    const paths = [
      'messages?q=message:west-1',
      'messages/export?q=message:west-1',
      'messages/export?format=csv&q=message:west-1',
      `messages/${id}`,
    ]
    const operator = await as('operator')
    for (const path of paths) assert.match((await operator.get(path)).text, /DE0212/, path)
    for (const name of ['viewer', 'bare']) {
      const client = await as(name)
      for (const path of paths) {
        const { status, text } = await client.get(path)
        assert.equal(status, 200)
        assert.doesNotMatch(text, /DE0212/, `${name} ${path}`)
      }
    }
    const selected = await (await as('bare')).post('selections', { consumer, ids: [id] })
    assert.equal(selected.status, 200)
    assert.doesNotMatch(selected.text, /DE0212/)
  })

  it('does not let a saved or shared search see what its reader may not', async () => {
    const operator = await as('operator')
    assert.equal((await operator.post('filters', { name: 'iban', q: 'payload.currency:USD' })).status, 200)
    assert.equal((await operator.get('filters')).body.filters.length, 1)
    const viewer = await as('viewer')
    assert.equal((await viewer.post('filters', { name: 'iban', q: 'payload.currency:USD' })).status, 403)
    assert.deepEqual((await viewer.get('filters')).body.filters, [])
    assert.equal((await viewer.get('messages/export?q=payload.currency:USD')).status, 403)
    const { rows } = await incident.pool.query(`select id::text from onceward.held limit 1`)
    const bare = await as('bare')
    const search = { consumer, q: 'payload.currency:USD' }
    assert.equal((await bare.post('selections', search)).body.error.code, 'payload')
    assert.equal((await bare.get(`messages/${rows[0].id}/body`)).status, 403)
  })

  it('lets only people act who are listed in the database', async () => {
    const client = await as('stranger', { 'x-forwarded-groups': 'operators' })
    const { rows } = await incident.pool.query('select min(id)::text as id from onceward.held')
    const { status, body } = await client.post(`messages/${rows[0].id}/note-fix`, { consumer, because: 'x' })
    assert.equal(status, 403)
    assert.match(body.error.message, /stranger is not registered in onceward.person/)
  })

  it('writes acts to the audit that were forged or came from another site', async () => {
    const operator = await as('operator')
    const last = async () =>
      (
        await incident.pool.query(
          'select action, outcome, actor, reason from onceward.audit order by seq desc limit 1',
        )
      ).rows[0]
    const note = { consumer, because: 'x' }
    await operator.post('messages/1/note-fix', note, { 'x-csrf-token': 'guessed' })
    const forged = await last()
    assert.match(forged.reason, /no valid CSRF token/)
    assert.deepEqual([forged.action, forged.outcome], ['console: parked fix', 'refused'])
    await operator.post('messages/1/note-fix', note, { origin: 'https://evil.example' })
    assert.match((await last()).reason, /came from another site/)
  })

  it('writes every act that it refuses to the audit, with issuer and subject', async () => {
    const viewer = await as('viewer')
    await viewer.post('messages/1/note-fix', { consumer, because: 'x' })
    const other = await as('other')
    await other.post('messages/1/note-fix', { consumer, because: 'x' })
    const { rows } = await incident.pool.query(
      `select action, outcome, consumer, reason, actor from onceward.audit where action = 'console: parked fix' order by seq desc limit 2`,
    )
    assert.deepEqual(
      rows.map(({ actor, ...row }) => [actor.replace(/ \(via test_.*/, ''), row]).reverse(),
      [
        ['viewer (via proxy viewer)', 'This needs the role operator. Nothing was changed.'],
        ['other (via proxy other)', 'Consumer invoice_booking was not found.'],
      ].map(([actor, reason]) => [
        actor,
        { action: 'console: parked fix', outcome: 'refused', consumer, reason },
      ]),
    )
  })
})

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { defineConsumer } from 'onceward'
import invoiceBooking from '../../../examples/09-parking-drill/invoice-booking.ts'
import { InvoiceReceived } from '../../../examples/09-parking-drill/messages.ts'
import { skipWithout } from '../../onceward/test/services/services.ts'
import { createConsole } from '../src/server/create-console.ts'
import type { Console } from '../src/server/options.ts'
import { showsKeys, withoutKeys } from '../src/server/rights/hide-keys.ts'
import { addOtherTeams } from './bench/busy-database.ts'
import { Client } from './bench/client.ts'
import { type Incident, openIncident } from './bench/incident.ts'

const secret = 'a secret of the proxy, long enough'
const origin = 'http://localhost:4400'
const consumer = 'invoice_booking'
const masking = (maskedMembers: readonly string[]) =>
  defineConsumer({ ...invoiceBooking.declared, message: { schema: InvoiceReceived, maskedMembers } })

describe('keys of messages', await skipWithout('postgres'), () => {
  let incident: Incident
  const desks: Console[] = []
  let effect: string

  before(async () => {
    incident = await openIncident({ persons: ['full', 'masked', 'none'] })
    await addOtherTeams(incident)
    await incident.pool.query(`update onceward.held set business_key = 'account ' || order_key`)
    const mail = JSON.stringify({ to: ['ada@example.com'], subject: 'Your loan', text: 'x' })
    const { rows } = await incident.pool.query(
      `update onceward.ledger set effect_type = 'email', body = convert_to($1, 'UTF8'), business_key = 'loan-ada',
         response_excerpt = 'ada', consumer_name = $2,
         message_id = 'east-1', last_error = 'card 4111 was refused'
       where id = (select min(id) from onceward.ledger where state = 'unknown') returning id::text`,
      [mail, consumer],
    )
    effect = rows[0].id
  })
  after(async () => {
    for (const desk of desks) await desk.close()
    await incident?.close()
  })

  const openDesk = (members: readonly string[] | null) => {
    const desk = createConsole({
      database: incident.consoleUrl,
      contracts: members === null ? [] : [masking(members) as never],
      auth: {
        kind: 'proxy',
        secret,
        origin,
        grants: [
          { group: 'full', roles: ['operator'] },
          { group: 'masked', roles: ['viewer'] },
          { group: 'none', roles: ['operator'], payload: 'none' },
        ],
      },
    })
    desks.push(desk)
    return async (name: string) => {
      const headers = {
        'x-onceward-proxy-secret': secret,
        'x-forwarded-user': name,
        'x-forwarded-groups': name,
      }
      const client = new Client(origin, headers, request => desk.fetch(request))
      await client.start()
      return client
    }
  }
  const heldId = async () =>
    (await incident.pool.query(`select id::text from onceward.held where message_id = 'east-1'`)).rows[0].id
  const pages = async () => [
    'messages?q=message:east-1',
    'messages/export?q=message:east-1',
    'messages/export?format=csv&q=message:east-1',
    `messages/${await heldId()}`,
    `consumers/${consumer}`,
    'ledger',
    `ledger/${effect}`,
  ]
  /** Of `east` in members and texts; ids of messages, which begin with it, are no keys. */
  const showsAKey = (text: string) => /"east"|account east|loan-ada|capture-\d{4}/.test(text)

  it('are shown with whole payloads, and hidden with none, on every page', async () => {
    const as = openDesk(['currency'])
    const [full, none] = [await as('full'), await as('none')]
    for (const path of await pages()) {
      assert.ok(showsAKey((await full.get(path)).text), path)
      const { status, text } = await none.get(path)
      assert.equal(status, 200)
      assert.ok(!showsAKey(text), `${path}: ${text}`)
    }
    const ids = [await heldId()]
    assert.ok(!showsAKey((await none.post('selections', { consumer, ids })).text))
    for (const name of ['full', 'none']) {
      const card = (await (await as(name)).get(`messages/${await heldId()}`)).body.key
      assert.equal(card.messages[0].messageId, 'east-1', 'the order of a key is shown')
    }
  })

  it('are hidden in campaigns and in the answers of their acts', async () => {
    const as = openDesk(['currency'])
    const [full, none] = [await as('full'), await as('none')]
    const because = 'the keys of this campaign are values of payloads'
    const selection = { of: 'parked', keys: ['east'] }
    const created = await none.post('campaigns', { consumer, mode: 'repair', because, selection })
    assert.equal(created.status, 200, created.text)
    const { id } = created.body
    const answers = [
      created,
      await none.get('campaigns'),
      await none.get(`campaigns/${id}`),
      await none.post(`campaigns/${id}/preview`, {}),
      await none.post(`campaigns/${id}/cancel`, { because }),
    ]
    for (const { text } of answers) assert.ok(!showsAKey(text), text)
    assert.ok(showsAKey((await full.get(`campaigns/${id}`)).text))
  })

  it('of calls and brokers are chosen freely, and shown with whole payloads only', async () => {
    const as = openDesk(['currency'])
    await incident.pool.query(`update onceward.held set broker_key = 'iban-ada' where message_id = 'east-1'`)
    for (const [name, isShown] of [
      ['full', true],
      ['masked', false],
    ] as const) {
      const client = await as(name)
      const { text } = await client.get(`messages/${await heldId()}`)
      assert.equal(/iban-ada/.test(text), isShown)
      assert.equal(/capture-\d{4}|loan-ada/.test((await client.get(`ledger/${effect}`)).text), isShown)
    }
  })

  it('are shown with masked payloads only if they are plainly not a masked member', async () => {
    for (const [members, isShown] of [
      [['currency'], true],
      [['accountId'], false],
      [null, false],
    ] as const) {
      const masked = await openDesk(members)('masked')
      for (const path of (await pages()).slice(0, 5))
        assert.equal(showsAKey((await masked.get(path)).text), isShown, `${members} ${path}`)
      const searched = await masked.get(`messages?q=consumer:${consumer} key:east`)
      assert.equal(searched.status, isShown ? 200 : 403)
      assert.equal((await masked.get('messages?q=key:east')).status, 403)
    }
  })

  it('show recipient, subject and errors of a mail with whole payloads only', async () => {
    const as = openDesk(['currency'])
    const of = async (name: string) => (await (await as(name)).get(`ledger/${effect}`)).body
    const { mail, responseExcerpt } = await of('full')
    assert.deepEqual([mail.to, mail.subject, responseExcerpt], [['ada@example.com'], 'Your loan', 'ada'])
    for (const name of ['masked', 'none'])
      assert.deepEqual([(await of(name)).mail, (await of(name)).responseExcerpt], [null, null])
    const places = ['ledger', `ledger/${effect}`, `messages/${await heldId()}`]
    for (const [name, isShown] of [
      ['full', true],
      ['masked', false],
      ['none', false],
    ] as const)
      for (const place of places)
        assert.equal(/4111/.test((await (await as(name)).get(place)).text), isShown, `${name} ${place}`)
    const act = { as: 'completed', because: 'seen at the target' }
    const done = await (await as('none')).post(`ledger/${effect}/reconcile`, act)
    assert.equal(done.status, 200, done.text)
    assert.equal(done.body.mail, null)
  })
})

describe('whether a key may be a masked value', () => {
  const shows = (orderKey: unknown, masked: readonly string[]) =>
    showsKeys('masked', { orderKey } as never, masked)

  it('is read from functions that only read members', () => {
    assert.ok(shows((m: { a: { b: string } }) => m.a.b, ['a.c', 'b']))
    assert.ok(shows((m: { a: string; b: string }) => `${m.a}:${m.b}`, ['c']))
    assert.ok(!shows((m: { a: { b: string } }) => m.a.b, ['a']))
    assert.ok(!shows((m: { a: { b: string } }) => m.a.b, ['$.a.b.c']))
    assert.ok(!shows((m: { a: { b: string } }) => m.a.b, ['*.b']))
    assert.ok(!shows((m: { a: string; b: string }) => `${m.a}:${m.b}`, ['b']))
  })

  it('is unknown of any other function, and then it is hidden', () => {
    const other = (m: { a: string }) => String(m.a)
    for (const key of [
      other,
      (m: { a: string }) => `${other(m)}`,
      { header: 'account' },
      function keyOf() {},
    ])
      assert.ok(!shows(key, ['c']))
    assert.ok(shows(undefined, ['c']))
  })
})

describe('a value without keys', () => {
  it('keeps ids and other members, and hides keys where texts quote them', () => {
    const shown = withoutKeys({
      messageId: 'south-1',
      key: 'south',
      text: 'south waits',
      n: 1,
      rows: [{ key: null }],
    })
    assert.deepEqual(shown, {
      messageId: 'south-1',
      key: '•••',
      text: '••• waits',
      n: 1,
      rows: [{ key: null }],
    })
  })
})

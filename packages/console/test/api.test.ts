import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { until } from 'onceward/testing'
import { skipWithout } from '../../onceward/test/services/services.ts'
import type { ServedConsole } from '../src/server/serve-console.ts'
import { Client } from './bench/client.ts'
import { type Incident, openIncident } from './bench/incident.ts'

const consumer = 'invoice_booking'

describe('the API of the console', await skipWithout('postgres'), () => {
  let incident: Incident
  let served: ServedConsole
  let ann: Client
  let bob: Client

  before(async () => {
    incident = await openIncident()
    served = await incident.serve({ auth: { kind: 'link' } })
    ann = await Client.signIn(served.linkFor('ann'))
    bob = await Client.signIn(served.linkFor('bob'))
  })
  after(() => incident?.close())

  const idOf = async (messageId: string) => {
    const { body } = await ann.get(`messages?q=message:${messageId}`)
    return body.rows[0]?.id as string
  }
  const freeze = async (client: Client, body: object) =>
    (await client.post('selections', { consumer, ...body })).body

  it('shows what needs attention, by consumer', async () => {
    const { status, body } = await ann.get('overview')
    assert.equal(status, 200)
    assert.deepEqual(
      body.attention.map(({ consumer, text }: Record<string, string>) => [consumer, text]),
      [[consumer, '8 parked messages']],
    )
    assert.equal(body.consumers[0].openRuns, 1)
    assert.deepEqual(body.consumers[0].sources, [{ kind: 'postgres', place: 'invoice.received' }])
  })

  it('finds messages by qualifiers, text and members of the payload, newest first by page', async () => {
    const ids = async (q: string) =>
      (await ann.get(`messages?q=${encodeURIComponent(q)}`)).body.rows.map(
        (row: Record<string, string>) => row.messageId,
      )
    assert.deepEqual(await ids(`consumer:${consumer} code:no_account`), ['south-1'])
    assert.deepEqual(await ids('key:east'), ['east-2', 'east-1'])
    assert.deepEqual(await ids('class:verdict since:1h'), ['west-1', 'east-1', 'south-1'])
    assert.deepEqual(await ids('until:1h'), [])
    assert.deepEqual(await ids('"passport no"'), ['west-3'])
    assert.deepEqual(await ids('payload.currency:USD'), ['east-1'])
    assert.deepEqual(await ids('payload.amount:300'), ['south-3'])
    assert.deepEqual(await ids('payload.accountId:USD'), [])
    assert.deepEqual(await ids('payload.currency:EUR payload.accountId:south'), [
      'south-3',
      'south-2',
      'south-1',
    ])
    assert.deepEqual(await ids('payload.accountId:south payload.amount:300'), ['south-3'])
    assert.deepEqual(await ids('payload.amount:300 payload.accountId:east'), [])
    assert.deepEqual(await ids('"passport no" "south"'), [])
    assert.deepEqual(await ids('"passport no" payload.accountId:west'), ['west-3'])
    assert.deepEqual(await ids('"passport no" payload.accountId:south'), [])
    const first = (await ann.get('messages?limit=3')).body
    assert.equal(first.rows.length, 3)
    const second = (await ann.get(`messages?limit=50&before=${first.next}`)).body
    assert.equal(second.rows.length, 5)
    assert.equal(second.next, null)
    const wrong = await ann.get('messages?q=nonsense:1')
    assert.equal(wrong.status, 400)
    assert.match(wrong.body.error.message, /no qualifier "nonsense:"/)
  })

  it('exports without formulas', async () => {
    const { headers, text } = await ann.get('messages/export?format=csv')
    assert.match(headers.get('content-disposition')!, /^attachment/)
    assert.equal(text.trim().split('\r\n').length, 9)
  })

  it('shows one message with its story, its payload and its key', async () => {
    const { body } = await ann.get(`messages/${await idOf('east-1')}`)
    assert.equal(body.message.code, 'wrong_currency')
    assert.match(body.payload.content, /"USD"/)
    assert.ok(body.story.timeline.length >= 3)
    assert.deepEqual(
      body.key.messages.map(({ messageId, head }: Record<string, unknown>) => [messageId, head]),
      [
        ['east-1', true],
        ['east-2', false],
      ],
    )
  })

  it('redrives a frozen filter with a ramp, as the person, and says the same command', async () => {
    await incident.pool.query(`insert into account (id) values ('south')`)
    const selection = await freeze(ann, { q: `consumer:${consumer} code:no_account` })
    assert.equal(selection.count, 1)
    assert.equal(selection.behind, 2)
    const started = await ann.post(`selections/${selection.id}/redrive`, { because: 'account opened' })
    assert.equal(started.status, 200)
    assert.match(
      started.body.command,
      /^onceward parked redrive \d+ --consumer invoice_booking --because 'account opened' --id console-/,
    )
    const result = async () => (await ann.get(`redrives/${started.body.requestId}`)).body
    await until('the redrive has moved all', async () => (await result()).outcomes.applied === 3)
    assert.equal((await result()).state, 'moved')
    const { rows } = await incident.pool.query(`select distinct actor from onceward.audit`)
    assert.match(rows[0].actor, /^ann \(via link\) \(via test_\w+\)$/)
  })

  it('does not let another person act on a selection, nor anybody on one that changed', async () => {
    const selection = await freeze(ann, { ids: [await idOf('east-1')] })
    const foreign = await bob.post(`selections/${selection.id}/skip`, { because: 'x' })
    assert.equal(foreign.status, 404)
    await ann.post(`messages/${await idOf('east-1')}/note-fix`, { consumer, because: 'looked at it' })
    const changed = await ann.post(`selections/${selection.id}/skip`, { because: 'x' })
    assert.equal(changed.status, 409)
    assert.match(changed.body.error.message, /selection has changed/i)
  })

  it('fixes a payload with its difference; another person approves exactly these bytes', async () => {
    const id = await idOf('east-1')
    const payload = JSON.stringify({ messageId: 'east-1', accountId: 'east', currency: 'EUR', amount: 100 })
    const fix = { consumer, payload, because: 'sender confirmed' }
    const preview = await ann.post(`messages/${id}/fix`, { ...fix, dryRun: true })
    assert.deepEqual(
      preview.body.diff
        .filter(({ sign }: Record<string, string>) => sign !== ' ')
        .map(({ text }: { text: string }) => text.trim()),
      ['"currency": "USD",', '"currency": "EUR",'],
    )
    const other = await ann.post(`messages/${id}/fix`, {
      ...fix,
      payload: payload.replace('east-1', 'east-9'),
      dryRun: false,
    })
    assert.equal(other.status, 409)
    assert.equal((await ann.post(`messages/${id}/fix`, { ...fix, dryRun: false })).status, 200)
    const [request] = (await ann.get('approvals')).body.approvals
    assert.equal(request.mine, true)
    const approval = { digest: request.digest, because: 'read the invoice' }
    const own = await ann.post(`approvals/${request.id}/approve`, approval)
    assert.equal(own.status, 409)
    assert.match(own.body.error.message, /requester/)
    assert.equal(
      (await bob.post(`approvals/${request.id}/approve`, { ...approval, digest: '0'.repeat(64) })).status,
      409,
    )
    assert.equal((await bob.post(`approvals/${request.id}/approve`, approval)).status, 200)
    const { id: selection } = await freeze(ann, { ids: [id] })
    await ann.post(`selections/${selection}/redrive`, { because: 'sender confirmed', ramp: false })
    await until('east is booked', async () => (await incident.booked()).includes('east-2'))
  })

  it('skips, and deletes with two people', async () => {
    const { id: skipped } = await freeze(ann, { ids: [await idOf('west-1')] })
    assert.deepEqual((await ann.post(`selections/${skipped}/skip`, { because: 'a test' })).body, {
      ok: true,
      closed: 1,
      freed: 2,
    })
    await until('west-3 is parked for its own reason', async () => {
      const { body } = await ann.get('messages?q=message:west-3')
      return body.rows[0]?.code === 'wrong_currency'
    })
    const { id: personal } = await freeze(ann, { ids: [await idOf('west-3')] })
    const request = (await ann.post(`selections/${personal}/delete`, { because: 'personal data' })).body
    const early = await ann.post(`approvals/${request.id}/erase`, { consumer })
    assert.equal(early.status, 409)
    await bob.post(`approvals/${request.id}/approve`, { digest: request.digest, because: 'personal data' })
    assert.equal((await ann.post(`approvals/${request.id}/erase`, { consumer })).body.closed, 1)
  })

  it('has the whole incident in the audit, in one intact chain, with refusals', async () => {
    const { body } = await ann.get('audit')
    assert.ok(body.rows.some(({ outcome }: Record<string, string>) => outcome === 'refused'))
    const verdict = (await ann.get('audit/verify')).body
    assert.deepEqual(verdict.problems, [])
    assert.deepEqual(await incident.booked(), [
      'east-1',
      'east-2',
      'north-1',
      'north-2',
      'north-3',
      'south-1',
      'south-2',
      'south-3',
      'west-2',
    ])
    assert.deepEqual((await ann.get('messages')).body.rows, [])
  })

  it('answers every page of the console, and describes itself', async () => {
    for (const path of ['ledger', 'outbox', 'decisions', 'redrives', `consumers/${consumer}`])
      assert.equal((await ann.get(path)).status, 200, path)
    const { body } = await ann.get('openapi.json')
    assert.equal(body.openapi, '3.1.0')
    assert.ok(
      body.paths['/selections/{id}/redrive'].post.requestBody.content['application/json'].schema.properties
        .ramp,
    )
  })
})

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { skipWithout } from '../../onceward/test/services/services.ts'
import { openApi } from '../src/server/api/open-api.ts'
import { routes } from '../src/server/api/routes.ts'
import { createConsole } from '../src/server/create-console.ts'
import type { ServedConsole } from '../src/server/serve-console.ts'
import { addOtherTeams, beat } from './bench/busy-database.ts'
import { Client } from './bench/client.ts'
import { type Document, Documented } from './bench/documented.ts'
import { type Incident, openIncident } from './bench/incident.ts'

const consumer = 'invoice_booking'
const because = 'a test'

describe('the OpenAPI document of the console', await skipWithout('postgres'), () => {
  let incident: Incident
  let served: ServedConsole
  let ann: Client
  let bob: Client
  let documented: Documented

  before(async () => {
    incident = await openIncident()
    await addOtherTeams(incident)
    await beat(incident)
    served = await incident.serve({
      auth: { kind: 'link' },
      headline: () => ({
        title: 'A run',
        about: 'a test',
        state: 'running',
        progress: 0.5,
        figures: [{ name: 'kills', value: '7' }],
        checks: [{ name: 'no loss', ok: true, found: 'none' }],
      }),
    })
    ann = await Client.signIn(served.linkFor('ann'))
    bob = await Client.signIn(served.linkFor('bob'))
    documented = await Documented.watch(ann)
    await Documented.watch(bob, documented)
  })
  after(() => incident?.close())

  const idOf = async (messageId: string) =>
    (await ann.get(`messages?q=message:${messageId}`)).body.rows[0].id as string
  const freeze = async (q: string) => (await ann.post('selections', { consumer, q })).body.id as string

  it('describes what the server answers: acts with two people', async () => {
    const id = await idOf('east-1')
    const payload = JSON.stringify({ messageId: 'east-1', accountId: 'east', currency: 'EUR', amount: 100 })
    const fix = { consumer, payload, because }
    await ann.post(`messages/${id}/fix`, { ...fix, dryRun: true })
    const fixed = await ann.post(`messages/${id}/fix`, { ...fix, dryRun: false })
    assert.equal(fixed.status, 200, fixed.text)
    const [request] = (await ann.get('approvals')).body.approvals
    await bob.get(`approvals/${request.id}`)
    await bob.post(`approvals/${request.id}/approve`, { digest: request.digest, because })
    const { requestId } = (
      await ann.post(`selections/${await freeze('message:east-1')}/redrive`, { because })
    ).body
    await ann.get(`redrives/${requestId}`)
    const wanted = (await ann.post(`selections/${await freeze('message:west-1')}/delete`, { because })).body
    await bob.post(`approvals/${wanted.id}/decline`, { because })
    const again = (await ann.post(`selections/${await freeze('message:west-1')}/delete`, { because })).body
    await bob.post(`approvals/${again.id}/approve`, { digest: again.digest, because })
    await ann.post(`approvals/${again.id}/erase`, { consumer })
    const selection = { of: 'parked', keys: ['south'] }
    const campaign = (await ann.post('campaigns', { consumer, mode: 'replay', because, selection })).body
    await ann.post(`campaigns/${campaign.id}/preview`, { dryRun: false })
    await ann.post(`campaigns/${campaign.id}/cancel`, { because })
    assert.deepEqual(documented.findings, [])
  })

  it('describes what the server answers: every page that is read', async () => {
    const first = async (path: string, list: string, name: string) =>
      (await ann.get(path)).body[list][0][name] as string
    const ids: Readonly<Record<string, string>> = {
      '/messages/{id}': await idOf('south-1'),
      '/messages/{id}/body': await idOf('south-1'),
      '/approvals/{id}': await first('approvals', 'approvals', 'id'),
      '/redrives/{request}': await first('redrives', 'redrives', 'requestId'),
      '/ledger/{id}': await first('ledger', 'effects', 'id'),
      '/campaigns/{id}': await first('campaigns', 'campaigns', 'id'),
      '/consumers/{name}/runbooks/{runbook}': 'paused',
    }
    await ann.post('filters', { name: 'mine', q: 'code:no_account' })
    for (const { method, path } of routes) {
      if (method !== 'get' || path.endsWith('/compare')) continue
      const asked = path.replace('{name}', consumer).replace(/\{\w+\}/, ids[path] ?? '')
      const { status, text } = await ann.get(asked.slice(1))
      assert.equal(status, 200, `${path} ${text.slice(0, 200)}`)
    }
    await ann.get('messages/export?format=csv')
    for (const name of ['payment_capture', 'parcel_tracking', 'order_mail', 'stock_levels'])
      await ann.get(`consumers/${name}`)
    assert.deepEqual(documented.findings, [])
    const read = routes.filter(({ method, path }) => method === 'get' && !path.endsWith('/compare'))
    assert.deepEqual(
      read.map(({ path }) => `get ${path}`).filter(name => !documented.seen.has(name)),
      [],
    )
  })

  it('describes refusals, with their status', async () => {
    const before = documented.findings.length
    const desk = createConsole({ database: incident.consoleUrl, auth: { kind: 'link' } })
    const stranger = new Client('http://elsewhere.example', {}, request => desk.fetch(request))
    await Documented.watch(stranger, documented)
    const answered = [
      await ann.get('messages?q=nonsense:1'),
      await ann.post('filters', { name: 'x', q: '' }, { 'x-csrf-token': 'forged' }),
      await ann.get('messages/999999'),
      await ann.post('selections', { consumer, q: 'code:never' }),
      await ann.post('selections', { consumer, q: 'x'.repeat(9_000_000) }),
      await stranger.get('overview'),
    ]
    await desk.close()
    assert.deepEqual(
      answered.map(({ status }) => status),
      [400, 403, 404, 409, 413, 421],
    )
    assert.deepEqual(documented.findings.slice(before), [])
  })

  it('says what a person must send, and what files and cookies there are', () => {
    const of = (cookie: string) => openApi(routes, '/', cookie) as unknown as Document
    const { paths, components } = of('__Host-onceward-session')
    assert.equal((components.securitySchemes!.session as { name: string }).name, '__Host-onceward-session')
    // biome-ignore lint/suspicious/noExplicitAny: the document
    const operation = (path: string, method: string) => paths[path]![method] as any
    for (const { method, path, act } of routes) {
      const { parameters, responses } = operation(path, method)
      const keyed = parameters.some((one: { $ref?: string }) => one.$ref?.endsWith('/idempotencyKey'))
      assert.equal(keyed, act !== undefined, path)
      assert.ok(responses[421], path)
    }
    assert.ok(operation('/messages/{id}/fix', 'post').responses[413])
    const exported = operation('/messages/export', 'get').responses[200]
    assert.deepEqual(Object.keys(exported.content), ['application/json', 'text/csv'])
    assert.ok(exported.headers['x-onceward-complete'])
    const body = operation('/messages/{id}/body', 'get').responses[200].content
    assert.deepEqual(Object.keys(body), ['application/octet-stream'])
  })
})

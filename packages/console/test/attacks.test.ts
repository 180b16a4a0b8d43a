import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { skipWithout } from '../../onceward/test/services/services.ts'
import { Sessions } from '../src/server/auth/sessions.ts'
import { createConsole } from '../src/server/create-console.ts'
import { RateLimit } from '../src/server/http/rate-limit.ts'
import { everything } from '../src/server/rights/rights.ts'
import type { ServedConsole } from '../src/server/serve-console.ts'
import { serveConsole } from '../src/server/serve-console.ts'
import { Client } from './bench/client.ts'
import { type Incident, openIncident } from './bench/incident.ts'

const consumer = 'invoice_booking'

describe('attacks on the console', await skipWithout('postgres'), () => {
  let incident: Incident
  let served: ServedConsole
  let ann: Client

  before(async () => {
    incident = await openIncident()
    served = await incident.serve({ auth: { kind: 'link' } })
    ann = await Client.signIn(served.linkFor('ann'))
  })
  after(() => incident?.close())

  const act = (headers: Record<string, string>) =>
    ann.post('selections', { consumer, q: `consumer:${consumer}` }, headers)

  it('refuses an act without the token of its session', async () => {
    assert.equal((await act({})).status, 200)
    for (const token of ['', 'guessed', (await Client.signIn(served.linkFor('bob'))).csrf]) {
      const { status, body } = await act({ 'x-csrf-token': token })
      assert.deepEqual([status, body.error.code], [403, 'csrf'])
    }
  })

  it('refuses an act from another origin, even with cookie and token', async () => {
    for (const origin of ['https://evil.example', 'null', 'http://127.0.0.1:1']) {
      const { status, body } = await act({ origin })
      assert.deepEqual([status, body.error.code], [403, 'foreign_origin'], origin)
    }
    const site = await act({ 'sec-fetch-site': 'cross-site' })
    assert.equal(site.body.error.code, 'foreign_origin')
  })

  it('refuses a name that resolves to this address', async () => {
    const console = createConsole({ database: incident.consoleUrl, auth: { kind: 'link' } })
    const answer = await console.fetch(
      new Request('http://evil.example/api/sign-in', { headers: { host: 'evil.example' } }),
    )
    assert.equal(answer.status, 421)
    await console.close()
  })

  it('opens each session under a new id, and never one that was planted', async () => {
    const planted = 'onceward-session=planted'
    const { hash } = new URL(served.linkFor('ann'))
    const token = hash.slice('#link='.length)
    const signedIn = await ann.post('sign-in', { token }, { cookie: planted })
    const [cookie] = signedIn.headers.getSetCookie()
    assert.match(cookie!, /^onceward-session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax$/)
    assert.equal((await new Client(served.url, { cookie: planted }).get('session')).status, 401)
  })

  it('uses a link once, and ends the session it replaces', async () => {
    const link = served.linkFor('ann')
    const client = await Client.signIn(link)
    const former = client.cookie
    const again = await client.post('sign-in', { token: new URL(link).hash.slice('#link='.length) })
    assert.deepEqual([again.status, again.body.error.code], [401, 'link_used'])
    await client.post('sign-in', { token: new URL(served.linkFor('ann')).hash.slice('#link='.length) })
    assert.equal((await new Client(served.url, { cookie: former }).get('session')).status, 401)
  })

  it('gives a session another id each quarter of an hour, and ends it under all of them', () => {
    let now = 0
    const sessions = new Sessions(() => now)
    const { id, session } = sessions.open({ name: 'ann', issuer: 'link', subject: 'ann' }, everything)
    assert.equal(sessions.rotate(id), null)
    now += 15 * 60_000
    const next = sessions.rotate(id)!
    assert.equal(sessions.rotate(id), null, 'requests on their way make no third id')
    assert.equal(sessions.find(id), session)
    now += 60_001
    assert.equal(sessions.find(id), null)
    assert.equal(sessions.find(next), session)
    now += 14 * 60_000
    const last = sessions.rotate(next)!
    sessions.close(next)
    assert.equal(sessions.find(last), null)
    assert.equal(sessions.isOpen(session), false)
  })

  it('ends the session at sign-out', async () => {
    const client = await Client.signIn(served.linkFor('ann'))
    const former = client.cookie
    await client.post('sign-out')
    assert.equal((await new Client(served.url, { cookie: former }).get('overview')).status, 401)
  })

  it('answers nothing without a session, for any path', async () => {
    const nobody = new Client(served.url)
    for (const path of ['overview', 'overview/', '%6fverview', 'live', '../api/overview', 'messages/1/body'])
      assert.notEqual((await nobody.get(path)).status, 200, path)
  })

  it('forbids frames, inline scripts and sniffing on every answer', async () => {
    for (const path of ['session', 'nothing', 'sign-in', '../', '../assets/nothing.js']) {
      const { headers } = await ann.get(path)
      const policy = headers.get('content-security-policy')!
      assert.match(policy, /default-src 'none'; script-src 'self';/, path)
      assert.match(policy, /frame-ancestors 'none'/)
      assert.doesNotMatch(policy, /unsafe/)
      assert.equal(headers.get('x-frame-options'), 'DENY')
      assert.equal(headers.get('x-content-type-options'), 'nosniff')
    }
  })

  it('reads no more of a body than its limit, also of one that does not say its length', async () => {
    const console = createConsole({ database: incident.consoleUrl, auth: { kind: 'link' } })
    const client = new Client('http://localhost', {}, request => console.fetch(request))
    await client.post('sign-in', { token: console.signInLink('ann').split('#link=')[1] })
    await client.start()
    let pulled = 0
    const endless = new ReadableStream({
      pull(controller) {
        pulled += 65_536
        controller.enqueue(new Uint8Array(65_536).fill(32))
      },
    })
    const answer = await console.fetch(
      new Request('http://localhost/api/selections', {
        method: 'POST',
        body: endless,
        duplex: 'half',
        headers: {
          cookie: client.cookie,
          origin: 'http://localhost',
          'x-csrf-token': client.csrf,
          'content-type': 'application/json',
        },
      } as RequestInit),
    )
    assert.equal(answer.status, 413)
    assert.ok(pulled < 10_000_000, `${pulled} bytes were read`)
    await console.close()
  })

  it('answers a flood of one session with 429, and its neighbours as before', async () => {
    const [flood, calm] = [
      await Client.signIn(served.linkFor('ann')),
      await Client.signIn(served.linkFor('bob')),
    ]
    const answers = await Promise.all(Array.from({ length: 160 }, () => flood.get('session')))
    const refused = answers.filter(({ status }) => status === 429)
    assert.ok(refused.length > 0)
    assert.equal(refused[0]!.body.error.code, 'too_many')
    assert.equal((await calm.get('session')).status, 200)
  })

  it('limits requests of one session, not of others', () => {
    let now = 0
    const limit = new RateLimit(20, 100, () => now)
    const allowed = (key: string) =>
      Array.from({ length: 120 }, () => limit.allows(key)).filter(one => one).length
    assert.equal(allowed('ann'), 100)
    assert.equal(allowed('bob'), 100)
    now += 1_000
    assert.equal(allowed('ann'), 20)
  })

  it('is not created with a short secret or on plain HTTP, nor served by link beyond loopback', async () => {
    const grants = [] as const
    const create = (auth: Parameters<typeof createConsole>[0]['auth']) => () =>
      createConsole({ database: incident.consoleUrl, auth })
    assert.throws(
      create({ kind: 'proxy', secret: 'short', origin: 'https://a.example', grants }),
      /fewer than 16/,
    )
    assert.throws(
      create({ kind: 'proxy', secret: 'x'.repeat(32), origin: 'http://a.example', grants }),
      /not https/,
    )
    await assert.rejects(
      serveConsole({ database: incident.consoleUrl, auth: { kind: 'link' }, host: '0.0.0.0', port: 0 }),
      /loopback only/,
    )
  })
})

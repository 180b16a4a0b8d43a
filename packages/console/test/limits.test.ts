import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { Hono } from 'hono'
import { until } from 'onceward/testing'
import { skipWithout } from '../../onceward/test/services/services.ts'
import { Campaigns } from '../src/server/api/campaigns.ts'
import { mountApi } from '../src/server/api/mount-api.ts'
import { RefusalLimit } from '../src/server/api/record-refused.ts'
import { Screens } from '../src/server/api/screens.ts'
import { Selections } from '../src/server/api/selections.ts'
import { Links } from '../src/server/auth/links.ts'
import { Sessions } from '../src/server/auth/sessions.ts'
import { createConsole } from '../src/server/create-console.ts'
import { answerError } from '../src/server/http/answer-error.ts'
import { clientAddress } from '../src/server/http/client-address.ts'
import { Limits } from '../src/server/http/limits.ts'
import { mountLive } from '../src/server/live/mount-live.ts'
import type { Parts } from '../src/server/parts.ts'
import { everything } from '../src/server/rights/rights.ts'
import { Client } from './bench/client.ts'
import { type Incident, openIncident } from './bench/incident.ts'

const secret = 'a secret of the proxy, long enough'
const origin = 'http://localhost:4400'
const minuteMs = 60_000

describe('limits of the console', await skipWithout('postgres'), () => {
  let incident: Incident
  const closing: (() => Promise<void>)[] = []

  before(async () => {
    incident = await openIncident()
  })
  after(async () => {
    for (const close of closing) await close()
    await incident?.close()
  })

  const openDesk = (auth: Parameters<typeof createConsole>[0]['auth']) => {
    const desk = createConsole({ database: incident.consoleUrl, auth })
    closing.push(() => desk.close())
    return desk
  }
  const proxied = () =>
    openDesk({ kind: 'proxy', secret, origin, grants: [{ group: 'people', roles: ['operator'] }] })
  const headersOf = (name: string) => ({
    host: 'localhost:4400',
    origin,
    'content-type': 'application/json',
    'x-onceward-proxy-secret': secret,
    'x-forwarded-user': name,
    'x-forwarded-groups': 'people',
  })
  const lastRefusals = async (where: string) =>
    (
      await incident.pool.query(
        `select action, actor, reason, subject from onceward.audit where outcome = 'refused' and ${where} order by seq desc`,
      )
    ).rows

  it('end the session of a person who only leaves a page open', async () => {
    let now = Date.now()
    const sessions = new Sessions(() => now)
    const options = { database: incident.consoleUrl, auth: { kind: 'link' as const } }
    const parts: Parts = {
      options,
      basePath: '/',
      pool: incident.pool,
      sessions,
      links: new Links(),
      limits: new Limits(),
      refusals: new RefusalLimit(),
      screens: new Screens(incident.pool),
      selections: new Selections(),
      campaigns: new Campaigns(options, new Map()),
      contracts: new Map(),
    }
    const app = new Hono()
    app.onError(answerError)
    mountLive(app, parts)
    mountApi(app, parts)
    const { id, session } = sessions.open({ name: 'ann', issuer: 'link', subject: 'ann' }, everything)
    const ask = async (path: string, headers = {}) => {
      const cookie = `onceward-session=${id}`
      const answer = await app.fetch(
        new Request(`http://localhost${path}`, { headers: { cookie, ...headers } }),
      )
      await answer.body?.cancel()
      return answer.status
    }
    now += 20 * minuteMs
    assert.equal(await ask('/api/live'), 200)
    assert.equal(await ask('/api/overview', { 'x-onceward-background': '1' }), 200)
    now += 11 * minuteMs
    assert.equal(sessions.isOpen(session), false)
    assert.equal(await ask('/api/overview'), 401)
  })

  it('count the requests of a person, with or without cookies', async () => {
    const desk = proxied()
    const flood = await Promise.all(
      Array.from({ length: 160 }, () =>
        desk.fetch(new Request(`${origin}/api/session`, { headers: headersOf('ann') })),
      ),
    )
    assert.ok(flood.some(({ status }) => status === 429))
    const other = await desk.fetch(new Request(`${origin}/api/session`, { headers: headersOf('bob') }))
    assert.equal(other.status, 200)
  })

  it('let a valid link sign in while others try, and limit failures by address', async () => {
    const desk = openDesk({ kind: 'link' })
    const from = (address: string) => ({ incoming: { socket: { remoteAddress: address } } })
    const signIn = (token: string, address: string) => {
      const headers = { host: 'localhost', origin: 'http://localhost' }
      const body = JSON.stringify({ token })
      const request = new Request('http://localhost/api/sign-in', { method: 'POST', headers, body })
      return desk.fetch(request, from(address))
    }
    const statuses = []
    for (let n = 0; n < 40; n++) statuses.push((await signIn('guessed', '10.0.0.1')).status)
    assert.ok(statuses.includes(429))
    assert.equal((await signIn('guessed', '10.0.0.2')).status, 401)
    const token = desk.signInLink('ann').split('#link=')[1]!
    assert.equal((await signIn(token, '10.0.0.1')).status, 200)
  })

  it('limit sign-ins by OpenID Connect by the address that the proxy writes', async () => {
    const desk = openDesk({
      kind: 'openid',
      issuer: 'http://127.0.0.1:1',
      clientId: 'x',
      clientSecret: 'x',
      origin,
      grants: [],
      allowInsecure: true,
      addressHeader: 'x-forwarded-for',
    })
    const start = async (address: string) => {
      const headers = { host: 'localhost:4400', 'x-forwarded-for': `forged, ${address}` }
      return (await desk.fetch(new Request(`${origin}/auth/start`, { headers }))).status
    }
    const flood = []
    for (let n = 0; n < 30; n++) flood.push(await start('192.0.2.1'))
    assert.ok(flood.includes(429))
    assert.notEqual(await start('192.0.2.2'), 429)
  })

  it('take an IPv6 network for one client, and know no address without a server', () => {
    const of = (remoteAddress: string) =>
      clientAddress({ kind: 'link' }, new Headers(), { incoming: { socket: { remoteAddress } } })
    assert.equal(of('2001:db8:1:2::5'), of('2001:DB8:1:2:ffff::1'))
    assert.notEqual(of('2001:db8:1:2::5'), of('2001:db8:1:3::5'))
    assert.equal(of('::ffff:10.0.0.1'), '10.0.0.1')
    assert.equal(of('::1'), '0:0:0:0')
    assert.equal(
      clientAddress({ kind: 'link' }, new Headers({ 'x-forwarded-for': '1.2.3.4' }), undefined),
      'unknown',
    )
  })

  it('write acts to the audit that are malformed, too large or too many', async () => {
    const desk = proxied()
    const client = new Client(origin, headersOf('ann'), request => desk.fetch(request))
    await client.start()
    const note = { consumer: 'invoice_booking', because: 'x' }
    const reasons = async () => (await lastRefusals(`action = 'console: parked fix'`)).map(row => row.reason)
    assert.equal((await client.post('messages/1/note-fix', { consumer: 7 })).status, 400)
    assert.match((await reasons())[0], /consumer: .*Nothing was changed/)
    assert.equal((await client.post('messages/1/note-fix', note, { 'idempotency-key': '!' })).status, 400)
    assert.match((await reasons())[0], /idempotency-key has/)
    const large = await client.post('messages/1/note-fix', { ...note, because: 'x'.repeat(9_000_000) })
    assert.equal(large.status, 413)
    assert.match((await reasons())[0], /too large/)
    const flood = await Promise.all(
      Array.from({ length: 260 }, () => client.post('messages/1/note-fix', note, { 'x-csrf-token': 'no' })),
    )
    assert.ok(flood.some(({ status }) => status === 429))
    const found = await reasons()
    assert.ok(found.some(reason => /Too many requests/.test(reason)))
    assert.ok(found.length <= 220, `${found.length} refusals were recorded`)
  })

  it('write a name to the audit that came past the proxy, and not a flood of them', async () => {
    const desk = proxied()
    const forge = (headers: Record<string, string>) =>
      desk.fetch(new Request(`${origin}/api/overview`, { headers: { ...headersOf('admin'), ...headers } }), {
        incoming: { socket: { remoteAddress: '10.0.0.9' } },
      })
    assert.equal((await forge({ 'x-onceward-proxy-secret': 'guessed guessed guessed' })).status, 401)
    const [row] = await lastRefusals(`action = 'console: sign-in'`)
    assert.match(row.reason, /A request named "admin" without the secret of the proxy, from 10\.0\.0\.9/)
    assert.doesNotMatch(row.actor, /admin/)
    await Promise.all(
      Array.from({ length: 300 }, () => forge({ 'x-onceward-proxy-secret': 'guessed guessed guessed' })),
    )
    await until('all are answered', async () => true)
    assert.ok((await lastRefusals(`action = 'console: sign-in'`)).length <= 110)
  })

  it('count refusals that are left out', () => {
    const limit = new RefusalLimit()
    const notes = Array.from({ length: 105 }, () => limit.take('ann'))
    assert.equal(notes.filter(note => note === '').length, 100)
    assert.equal(limit.take('bob'), '')
  })
})

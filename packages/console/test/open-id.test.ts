import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import { after, before, describe, it } from 'node:test'
// @ts-expect-error: the package has no types
import Provider from 'oidc-provider'
import { skipWithout } from '../../onceward/test/services/services.ts'
import { createConsole } from '../src/server/create-console.ts'
import type { Console } from '../src/server/options.ts'
import { type Incident, openIncident } from './bench/incident.ts'

const origin = 'http://localhost:4400'
const callback = `${origin}/desk/auth/callback`
const groups: Record<string, readonly string[]> = {
  ann: ['oncall'],
  eve: ['guests'],
  'x (via ann)': ['oncall'],
}

/** A browser without scripts: cookies by origin, redirects by hand. */
class Browser {
  readonly #cookies = new Map<string, Map<string, string>>()
  readonly #desk: Console

  constructor(desk: Console) {
    this.#desk = desk
  }

  async send(url: string, init: RequestInit = {}): Promise<Response> {
    const site = new URL(url).origin
    const jar = this.#cookies.get(site) ?? new Map<string, string>()
    this.#cookies.set(site, jar)
    const headers = new Headers(init.headers)
    headers.set('cookie', [...jar].map(([name, value]) => `${name}=${value}`).join('; '))
    const request = new Request(url, { ...init, headers, redirect: 'manual' })
    const response = site === origin ? await this.#desk.fetch(request) : await fetch(request)
    for (const set of response.headers.getSetCookie()) {
      const [name = '', value = ''] = set.split(';')[0]!.split('=')
      if (value === '') jar.delete(name)
      else jar.set(name, value)
    }
    return response
  }

  /** Follows redirects and signs in at the provider. Stops before `stopAt`. */
  async signIn(name: string, stopAt = 'never'): Promise<URL> {
    let url = `${origin}/desk/auth/start`
    let response = await this.send(url)
    for (;;) {
      const location = response.headers.get('location')
      if (location === null) {
        const [, action] = /action="([^"]+)"/.exec(await response.text())!
        const prompt = /name="prompt" value="(\w+)"/.exec(await this.send(url).then(page => page.text()))![1]!
        const form = new URLSearchParams({
          prompt,
          ...(prompt === 'login' && { login: name, password: 'x' }),
        })
        url = new URL(action!, url).href
        response = await this.send(url, {
          method: 'POST',
          body: form.toString(),
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
        })
        continue
      }
      url = new URL(location, url).href
      if (url.startsWith(stopAt) || url === `${origin}/desk/` || url.startsWith(`${origin}/desk/#`))
        return new URL(url)
      response = await this.send(url)
    }
  }
}

describe('sign-in by OpenID Connect, at a real provider', await skipWithout('postgres'), () => {
  let incident: Incident
  let server: Server
  let desk: Console

  before(async () => {
    incident = await openIncident()
    server = createServer()
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    const issuer = `http://127.0.0.1:${(server.address() as { port: number }).port}`
    const provider = new Provider(issuer, {
      clients: [{ client_id: 'desk', client_secret: 'secret of the client', redirect_uris: [callback] }],
      claims: { openid: ['sub'], profile: ['preferred_username', 'groups'] },
      conformIdTokenClaims: false,
      cookies: { keys: ['key of the cookies'] },
      findAccount: (_context: unknown, id: string) => ({
        accountId: id,
        claims: () => ({ sub: id, preferred_username: id, groups: groups[id] ?? [] }),
      }),
    })
    server.on('request', provider.callback())
    desk = createConsole({
      database: incident.consoleUrl,
      basePath: '/desk',
      auth: {
        kind: 'openid',
        issuer,
        clientId: 'desk',
        clientSecret: 'secret of the client',
        origin,
        allowInsecure: true,
        grants: [{ group: 'oncall', roles: ['operator'], scope: { owners: ['billing'] } }],
      },
    })
  })
  after(async () => {
    await desk?.close()
    server?.closeAllConnections()
    server?.close()
    await incident?.close()
  })

  const sessionOf = async (browser: Browser) => {
    const response = await browser.send(`${origin}/desk/api/session`)
    // biome-ignore lint/suspicious/noExplicitAny: shaped by the route
    return { status: response.status, body: (await response.json()) as any }
  }

  it('opens a session with the roles and the scope of the claims', async () => {
    const browser = new Browser(desk)
    assert.equal((await browser.signIn('ann')).hash, '')
    const { status, body } = await sessionOf(browser)
    assert.equal(status, 200)
    assert.equal(body.person, 'ann')
    assert.deepEqual(body.roles, ['operator'])
    assert.deepEqual(body.rights[0].scope.owners, ['billing'])
  })

  it('records issuer and subject with the act', async () => {
    const browser = new Browser(desk)
    await browser.signIn('ann')
    const { csrf } = (await sessionOf(browser)).body
    const { rows } = await incident.pool.query('select min(id)::text as id from onceward.held')
    const response = await browser.send(`${origin}/desk/api/messages/${rows[0].id}/note-fix`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-csrf-token': csrf, origin },
      body: JSON.stringify({ consumer: 'invoice_booking', because: 'looked at it' }),
    })
    assert.equal(response.status, 200)
    const audit = await incident.pool.query('select actor from onceward.audit order by seq desc limit 1')
    assert.match(audit.rows[0].actor, /^ann \(via http:\/\/127\.0\.0\.1:\d+ ann\) \(via test_/)
  })

  it('opens none without a grant, nor for a name that could pass for another person', async () => {
    const eve = new Browser(desk)
    assert.equal((await eve.signIn('eve')).hash, '#sign-in=no-rights')
    assert.equal((await sessionOf(eve)).status, 401)
    const mallory = new Browser(desk)
    assert.equal((await mallory.signIn('x (via ann)')).hash, '#sign-in=failed')
    assert.equal((await sessionOf(mallory)).status, 401)
  })

  it('opens none for an answer that another browser began', async () => {
    const victim = new Browser(desk)
    const attacker = new Browser(desk)
    const answer = await attacker.signIn('ann', callback)
    const response = await victim.send(answer.href)
    assert.equal(response.headers.get('location'), '/desk/#sign-in=failed')
    assert.equal((await sessionOf(victim)).status, 401)
  })
})

import assert from 'node:assert/strict'
import { Hono } from 'hono'
import { parseSearch } from '../../../../console/src/server/api/parse-search.ts'
import { readInput } from '../../../../console/src/server/api/read-input.ts'
import { routes } from '../../../../console/src/server/api/routes.ts'
import type { ProxyAuth } from '../../../../console/src/server/auth/auth.ts'
import { proxyIdentity } from '../../../../console/src/server/auth/proxy-identity.ts'
import { cookieNames, readCookie } from '../../../../console/src/server/http/cookies.ts'
import { assertHost, assertOrigin } from '../../../../console/src/server/http/origins.ts'
import { Problem } from '../../../../console/src/server/http/problem.ts'
import { isPersonName } from '../../../../console/src/server/rights/person-name.ts'
import { parkedCsv } from '../../../src/operations/parking/parked-csv.ts'
import { orRefused, type Target } from '../target.ts'

const now = new Date('2026-01-01T00:00:00Z')

const searches: Target = {
  name: 'console searches',
  kind: 'text',
  seeds: [
    'consumer:orders code:no_account since:2h payload.order.id:7 "some text"',
    'state:parked,dead id:1,2',
    'until:2026-03-01',
  ],
  words: [
    'consumer:',
    'payload.',
    'since:',
    'until:',
    'id:',
    'state:',
    '"',
    '\\',
    ' ',
    ',',
    'http:',
    '7d',
    '.',
  ],
  check(input) {
    const search = orRefused(
      () => parseSearch(input.toString('utf8'), now),
      error => error instanceof Problem,
    )
    if (search === null) return
    for (const time of [search.filter.since, search.filter.until])
      if (time !== undefined) assert.ok(!Number.isNaN((time as Date).getTime()))
  },
}

/** The first member is the number of a route, the others what its query and its body get. */
const inputs: Target = {
  name: 'console inputs',
  kind: 'json',
  seeds: routes.map((_, index) => ({
    route: index,
    query: { limit: '10', after: 'x' },
    body: { ids: ['1'], reason: 'r' },
  })),
  words: [
    'limit',
    'after',
    'ids',
    'reason',
    'consumer',
    'digest',
    'since',
    'rate',
    'filter',
    'name',
    '1',
    '-1',
    'NaN',
  ],
  check(input) {
    const given = JSON.parse(input.toString('utf8')) ?? {}
    const route = routes[Number(given.route) % routes.length]
    if (route === undefined) return
    for (const [schema, value] of [
      [route.query, given.query],
      [route.body, given.body],
    ] as const)
      if (schema !== undefined) assert.equal(typeof schema.safeParse(value).success, 'boolean')
  },
}

/** A cell never begins as a formula, and quotes never end early. */
const exported: Target = {
  name: 'console exports',
  kind: 'text',
  seeds: ['=1+1', '"a","b"', 'a\nb', '@x', '-1'],
  words: ['=', '+', '-', '@', '\t', '\r', '\n', '"', ','],
  check(input) {
    const reason = input.toString('utf8')
    const row = { id: '1', reason, messageId: reason, code: reason, headers: {}, properties: {} }
    orRefused(
      () => parkedCsv([row as never]),
      () => false,
    )
  },
}

const secret = 'a secret of the proxy'

/** What a request brings besides its route: host, origin, cookies, the headers of a proxy, and its body. */
const requests: Target = {
  name: 'console requests',
  kind: 'json',
  seeds: [
    {
      route: 3,
      headers: {
        host: '127.0.0.1:3000',
        cookie: 'onceward-session=abc; b="c"',
        origin: 'http://127.0.0.1:3000',
      },
      body: '{"ids":["1"],"reason":"r"}',
    },
    {
      route: 5,
      headers: {
        ...{ 'x-onceward-proxy-secret': secret, 'x-forwarded-user': 'ann', 'x-forwarded-groups': 'ops, all' },
        ...{ host: 'console.example', origin: 'https://console.example', 'sec-fetch-site': 'same-origin' },
      },
      query: 'limit=10&after=x',
      body: '[]',
    },
  ],
  words: [
    ...['host', 'origin', 'cookie', 'content-length', 'x-forwarded-user', 'x-forwarded-groups', secret],
    ...['onceward-session=', ';', '=', ',', '[::1]:1', '127.0.0.1', 'null', '\u200b', '%00', '(via x)'],
  ],
  async check(input) {
    const given = asObject(JSON.parse(input.toString('utf8')))
    const route = routes[Number(given.route) % routes.length]
    const request = requestOf(given)
    if (request === null || route === undefined) return
    for (const auth of [proxy, { kind: 'link' }] as const) {
      const names = cookieNames(auth)
      const cookie = readCookie(request, names.session)
      if (cookie !== undefined) assert.ok(request.headers.get('cookie')!.includes(cookie))
      for (const check of [assertHost, assertOrigin])
        orRefused(
          () => check(auth, request),
          error => error instanceof Problem,
        )
    }
    const person = proxyIdentity(proxy, request.headers)
    if (person !== null) assert.ok(isPersonName(person.identity.name))
    await readAll(route, request)
  },
}

const proxy = {
  kind: 'proxy',
  secret,
  origin: 'https://console.example',
  grants: [{ group: 'ops', roles: ['operator'] }],
} as const satisfies ProxyAuth

function asObject(value: unknown): Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? { ...value } : {}
}

/** Null for what no client can send: names and values that HTTP does not have. */
function requestOf(given: Record<string, unknown>): Request | null {
  try {
    const headers = Object.entries(asObject(given.headers)).map(([name, value]) => [name, String(value)])
    const url = `http://127.0.0.1/api?${String(given.query ?? '')}`
    return new Request(url, { method: 'POST', headers, body: String(given.body ?? '') } as RequestInit)
  } catch {
    return null
  }
}

/** The body and the query, as the route reads them. */
async function readAll(route: (typeof routes)[number], request: Request): Promise<void> {
  const app = new Hono()
  let failed: unknown = null
  app.onError((error, context) => {
    if (!(error instanceof Problem)) failed = error
    return context.text('')
  })
  app.post('*', async context => {
    const { query } = await readInput(route, context)
    assert.equal(typeof query, 'object')
    return context.text('')
  })
  await app.fetch(request)
  if (failed !== null) throw failed
}

export const consoleTargets = [searches, inputs, requests, exported]

import assert from 'node:assert/strict'
import { parseSearch } from '../../../../console/src/server/api/parse-search.ts'
import { routes } from '../../../../console/src/server/api/routes.ts'
import { Problem } from '../../../../console/src/server/http/problem.ts'
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

export const consoleTargets = [searches, inputs, exported]

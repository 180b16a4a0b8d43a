import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { until } from 'onceward/testing'
import { selectParked } from '../../onceward/src/drivers/postgres/parking/read-parked.ts'
import { searchPayload } from '../../onceward/src/operations/parking/search-payload.ts'
import { skipWithout } from '../../onceward/test/services/services.ts'
import { type ServedConsole, serveConsole } from '../src/server/serve-console.ts'
import { openBrowser, openPage, skipWithoutBrowser } from './bench/browser.ts'
import { Client } from './bench/client.ts'
import { consumer, held, type ManyHeld, openManyHeld } from './bench/many-held.ts'

const withBrowser = await skipWithoutBrowser()
const clock = { nowMs: () => performance.now() }

/** A part of a plan: what PostgreSQL did, and how many rows it read. */
interface Node {
  readonly 'Node Type': string
  readonly 'Index Name'?: string
  readonly 'Relation Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly Node[]
}

const nodesOf = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)]

describe(`a search among ${held.toLocaleString('en')} held messages`, await skipWithout('postgres'), () => {
  let many: ManyHeld
  let pool: ManyHeld['pool']
  let served: ServedConsole
  let ann: Client

  before(async () => {
    many = await openManyHeld()
    pool = many.pool
    served = await serveConsole({ database: many.url, port: 0, auth: { kind: 'link' } })
    ann = await Client.signIn(served.linkFor('ann'))
  })
  after(async () => {
    await served?.close()
    await many?.close()
  })

  const planOf = async (filter: Parameters<typeof selectParked>[0]) => {
    const { text, values } = selectParked(filter)
    const { rows } = await pool.query(`explain (analyze, format json) ${text}`, [...values])
    return nodesOf(rows[0]['QUERY PLAN'][0].Plan)
  }
  const readOf = (nodes: readonly Node[]) =>
    nodes
      .filter(node => node['Relation Name'] === 'held')
      .reduce(
        (sum, node) =>
          sum + (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'],
        0,
      )

  for (const [how, filter] of Object.entries({
    'the first page': {},
    'a page in the middle': { before: '50000' },
    'the last page': { before: '60' },
    'a page of one consumer and state': { consumer, states: ['dead'] },
    'a page of a scope': { consumers: [consumer] },
    'a page of a common code': { code: 'code_3' },
    'a page of a rare code': { code: 'rare' },
    'a page of a key': { key: 'k-77' },
    'a page of a time': { since: new Date(Date.now() - 3_600_000) },
  } as Record<string, Partial<Parameters<typeof selectParked>[0]>>))
    it(`walks an index and stops: ${how}`, async () => {
      const nodes = await planOf({ ...filter, newestFirst: true, countMax: 51 })
      const scans = nodes.filter(node => node['Relation Name'] === 'held' && node['Actual Loops'] > 0)
      assert.ok(
        scans.every(node => /Index/.test(node['Node Type'])),
        JSON.stringify(scans),
      )
      const read = readOf(nodes)
      assert.ok(read < 5_000, `${read} rows were read`)
    })

  it('visits every row once, by page, in order', async () => {
    const seen: number[] = []
    for (let before = ''; ; ) {
      const { rows, next } = (await ann.get(`messages?limit=200&q=code:code_5${before}`)).body
      seen.push(...rows.map((row: { id: string }) => Number(row.id)))
      if (next === null || seen.length >= 2_000) break
      before = `&before=${next}`
    }
    assert.equal(new Set(seen).size, seen.length)
    assert.deepEqual(
      seen,
      seen.toSorted((a, b) => b - a),
    )
  })

  it('finds text in payloads within two seconds, and continues where it stopped', async t => {
    const text = '"\\"number\\" : 4000,"'
    const began = performance.now()
    const found: string[] = []
    let before = ''
    let pages = 0
    for (;;) {
      const at = performance.now()
      const { status, body } = await ann.get(`messages?q=${encodeURIComponent(text)}${before}`)
      assert.equal(status, 200)
      assert.ok(performance.now() - at < 4_000, 'a page is bounded')
      found.push(...body.rows.map((row: { messageId: string }) => row.messageId))
      pages++
      if (body.next === null) break
      before = `&before=${body.next}`
    }
    assert.deepEqual(found, ['m-4000'])
    t.diagnostic(`text in ${held} payloads: ${(performance.now() - began).toFixed(0)} ms in ${pages} answers`)
  })

  it('shows pages in a browser, and a person cancels a search there', withBrowser, async t => {
    const browser = await openBrowser()
    t.after(() => browser.close())
    const { page, errors } = await openPage(browser, served.linkFor('ann'))
    const boxes = page.getByLabel(/^Select message/)
    const shown = (count: number) => until(`${count} rows`, async () => (await boxes.count()) === count)
    await page.goto(`${served.url}/messages`)
    await shown(50)
    await page.getByRole('button', { name: 'Load more' }).click()
    await shown(100)
    await page.goto(`${served.url}/messages?q=code:rare`)
    await shown(5)

    const search = Promise.withResolvers<void>()
    await page.route(/api\/messages\?.*nowhere/, async route => {
      await search.promise
      await route.continue().catch(() => {}) // the page has cancelled it
    })
    await page.getByLabel('Search held messages').fill('"nowhere at all"')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Cancel the search' }).click()
    await page.getByText('Nothing was found so far.').waitFor()
    search.resolve()
    await page.getByLabel('Search held messages').fill('payload.number:99002')
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'm-99002' }).waitFor({ timeout: 60_000 })

    await page.goto(`${served.url}/messages?q=consumer:${consumer}`)
    await page.getByRole('button', { name: 'Quarantine all…' }).click()
    await page.getByText('Exactly 100,000 messages').waitFor()
    assert.deepEqual(errors, [])
  })

  it('says honestly that it has not looked at everything', async () => {
    const filter = { newestFirst: true, countMax: 50, payloadHas: ['nowhere at all'] }
    const stopped = await searchPayload(pool, filter, [], { ...clock, timeoutMs: 1 })
    assert.equal(stopped.complete, false)
    const all = await searchPayload(pool, filter, [], { ...clock, timeoutMs: 60_000 })
    assert.deepEqual([all.rows, all.complete, all.next], [[], true, null])
  })

  it('stops soon after its client has left, and has no statement running', async () => {
    const stopping = new AbortController()
    const filter = { newestFirst: true, countMax: 50, payloadHas: ['nowhere at all'] }
    const search = searchPayload(pool, filter, [], {
      ...clock,
      timeoutMs: 60_000,
      signal: stopping.signal,
    })
    stopping.abort()
    const { complete, next } = await search
    assert.equal(complete, false)
    assert.ok(next === null || Number(next) > held / 2, `it went on to ${next}`)
  })

  it('finds a member of a payload, and not the same text elsewhere', async () => {
    const { body } = await ann.get(`messages?q=payload.number:4001`)
    assert.deepEqual(
      body.rows.map((row: { messageId: string }) => row.messageId),
      body.complete ? ['m-4001'] : body.rows.map((row: { messageId: string }) => row.messageId),
    )
    assert.deepEqual((await ann.get('messages?q=payload.customer:4001&limit=1')).body.rows, [])
  })

  it('exports as many as it says, without formulas', async () => {
    await pool.query(
      `update onceward.held set code = '=cmd|calc', reason = E'\\t+1+1', message_id = '@x' where id = ${held}`,
    )
    const csv = await ann.get(`messages/export?format=csv`)
    assert.equal(csv.headers.get('x-onceward-complete'), 'false')
    const lines = csv.text.trim().split('\r\n')
    assert.equal(lines.length, 10_001)
    assert.match(lines[1]!, /"'=cmd\|calc","'\t\+1\+1"/)
    assert.match(lines[1]!, /"'@x"/)
    const few = await ann.get(`messages/export?format=json&q=code:rare`)
    assert.equal(few.headers.get('x-onceward-complete'), 'true')
    assert.equal(few.body.length, 5)
  })
})

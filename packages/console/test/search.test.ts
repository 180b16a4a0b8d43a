import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { until } from 'onceward/testing'
import { ensurePages } from '../../../scripts/build/ensure-pages.ts'
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
    // A console looks for its pages when it starts.
    if (withBrowser.skip === undefined) await ensurePages()
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

  /** How many rows a page reads, without a scan of the whole table. */
  const readByIndex = async (filter: Partial<Parameters<typeof selectParked>[0]>) => {
    const nodes = await planOf({ ...filter, newestFirst: true, countMax: 51 })
    const scans = nodes.filter(node => node['Relation Name'] === 'held' && node['Actual Loops'] > 0)
    assert.ok(
      scans.every(node => /Index/.test(node['Node Type'])),
      JSON.stringify(scans),
    )
    return readOf(nodes)
  }

  for (const [how, filter] of Object.entries({
    'the first page': {},
    'a page in the middle': { before: '50000' },
    'the last page': { before: '60' },
    'a page of one consumer and state': { consumer, states: ['dead'] },
    'a page of a scope': { consumers: [consumer] },
    'a page of a common code': { code: 'code_3' },
    'a page of a rare code': { code: 'rare' },
    'a page of a key': { key: 'k-77' },
    'a page of a label': { label: 'bank' },
    'a page of an assignee': { assignee: 'bob' },
    'a page of a common type': { type: 'type_1' },
    'a page of a common class': { failureClass: 'verdict' },
    'a page of a time': { since: new Date(Date.now() - 3_600_000) },
  } as Record<string, Partial<Parameters<typeof selectParked>[0]>>))
    it(`walks an index and stops: ${how}`, async () => {
      const read = await readByIndex(filter)
      assert.ok(read < 5_000, `${read} rows were read`)
    })

  it('walks an index and stops: a page of a cause', async () => {
    const { rows } = await pool.query(`select onceward.cause_of(failure_class, code,
      onceward.place_of(place, origin, message_type)) as cause from onceward.held where code = 'rare' limit 1`)
    const read = await readByIndex({ cause: rows[0].cause })
    assert.ok(read < 5_000, `${read} rows were read`)
  })

  for (const [how, filter] of Object.entries({
    'a rare type': { type: 'type_rare' },
    'a rare class': { failureClass: 'validation' },
    'a business key': { businessKey: 'b-77' },
  } as Record<string, Partial<Parameters<typeof selectParked>[0]>>))
    it(`has no index of ${how}, and looks at each message at most once`, async () => {
      const read = await readByIndex(filter)
      assert.ok(read <= held * 1.01, `${read} rows were read`)
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
      // The console stops after two seconds, and the machine may stop this process for two more.
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

  /** Statements of searches that the server runs now, or that wait there. */
  const searching = async () => {
    const { rows } = await pool.query(
      `select count(*)::int from pg_stat_activity where datname = current_database() and state = 'active'
         and query like '%position(convert_to(t.text%' and pid <> pg_backend_pid()`,
    )
    return rows[0].count as number
  }
  /** While rows of held messages are locked away, a search cannot end by itself. */
  const whileLocked = async (work: () => Promise<void>) => {
    const client = await pool.connect()
    try {
      await client.query('begin')
      await client.query('lock table onceward.classification in access exclusive mode')
      await work()
    } finally {
      await client.query('rollback')
      client.release()
    }
  }

  it('cancels its running statement when it is not wanted any more', async () => {
    const stopping = new AbortController()
    const filter = { newestFirst: true, countMax: 50, payloadHas: ['nowhere at all'] }
    const limits = { ...clock, timeoutMs: 600_000, signal: stopping.signal }
    await whileLocked(async () => {
      const search = searchPayload(pool, filter, [], limits)
      await until('its statement runs', async () => (await searching()) === 1)
      const ended: Awaited<typeof search>[] = []
      void search.then(result => ended.push(result))
      stopping.abort()
      await until('the search has ended', async () => ended.length === 1)
      assert.deepEqual([ended[0]!.complete, ended[0]!.rows], [false, []])
      assert.equal(await searching(), 0)
    })
    const { rows } = await pool.query('select 1 as works')
    assert.equal(rows[0].works, 1)
  })

  it('cancels the statement of a client that has left, long before its time is over', async () => {
    const leaving = new AbortController()
    await whileLocked(async () => {
      const began = performance.now()
      const asked = fetch(`${served.url}/api/selections`, {
        method: 'POST',
        signal: leaving.signal,
        headers: {
          cookie: ann.cookie,
          origin: served.url,
          'content-type': 'application/json',
          'x-csrf-token': ann.csrf,
        },
        body: JSON.stringify({ consumer, q: '"nowhere at all"' }),
      })
      const left = assert.rejects(asked, { name: 'AbortError' })
      await until('its statement runs', async () => (await searching()) === 1)
      leaving.abort()
      await left
      await until('no statement runs', async () => (await searching()) === 0)
      assert.ok(performance.now() - began < 4_500, 'it waits 5 s for a lock by itself')
    })
  })

  it('finds a member of a payload, and not the same text elsewhere', async () => {
    const found = async (q: string) => {
      const rows: string[] = []
      for (let before = ''; ; ) {
        const { body } = await ann.get(`messages?q=${q}${before}`)
        rows.push(...body.rows.map((row: { messageId: string }) => row.messageId))
        if (body.next === null) return rows
        before = `&before=${body.next}`
      }
    }
    assert.deepEqual(await found('payload.number:4001'), ['m-4001'])
    assert.deepEqual(await found('payload.customer:4001'), [])
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

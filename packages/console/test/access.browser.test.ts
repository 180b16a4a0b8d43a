import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { until } from 'onceward/testing'
import type { Browser, Page } from 'playwright-core'
import type { ServedConsole } from '../src/server/serve-console.ts'
import { seriousFindings, settled, sideways } from './bench/axe.ts'
import { openBrowser, openPage, skipWithoutBrowser } from './bench/browser.ts'
import { addOtherTeams } from './bench/busy-database.ts'
import { Client } from './bench/client.ts'
import { type Incident, openIncident } from './bench/incident.ts'

const views = ['light', 'dark'].flatMap(scheme =>
  [1280, 390].map(width => ({ scheme: scheme as 'light' | 'dark', width })),
)
const markup = '<img src=x onerror=window.hit=1>'
const rightToLeft = 'חשבונית שולמה אתמול בבוקר'
const long = 'a_name_without_end_'.repeat(9)

describe('the pages of the console, for everybody', await skipWithoutBrowser(), () => {
  let incident: Incident
  let served: ServedConsole
  let browser: Browser
  let campaign: string
  const persons = ['ann', 'bob', markup, rightToLeft, long]

  before(async () => {
    // Builds the pages, which a console looks for when it starts.
    browser = await openBrowser()
    incident = await openIncident({ persons })
    await addOtherTeams(incident)
    served = await incident.serve({ auth: { kind: 'link' }, campaigns: { database: incident.databaseUrl } })
    const ann = await Client.signIn(served.linkFor('ann'))
    const asked = { consumer: 'invoice_booking', mode: 'replay', because: 'a test' }
    const selection = { of: 'parked', keys: ['south'] }
    campaign = (await ann.post('campaigns', { ...asked, selection })).body.id
    await ann.post(`campaigns/${campaign}/preview`, { dryRun: false })
    const q = 'message:west-1'
    const frozen = (await ann.post('selections', { consumer: 'invoice_booking', q })).body.id
    await ann.post(`selections/${frozen}/delete`, { because: 'personal data' })
  })
  after(async () => {
    await browser?.close()
    await incident?.close()
  })

  const at = (path: string) => `${served.url}/${path}`
  const messagePath = async (messageId: string) => {
    const query = 'select id::text from onceward.held where message_id = $1'
    return `messages/${(await incident.pool.query(query, [messageId])).rows[0].id}`
  }

  for (const { scheme, width } of views)
    it(`have no serious finding of axe-core: ${scheme}, ${width} wide`, async () => {
      const view = { colorScheme: scheme, viewport: { width, height: 860 } }
      const found: string[] = []
      const look = async (page: Page, where: string) => {
        found.push(...(await seriousFindings(page)).map(finding => `${where} ${finding}`))
        const overflow = await sideways(page)
        if (overflow > 0) found.push(`${where} scrolls sideways by ${overflow}`)
      }
      const stranger = await browser.newContext({ ...view })
      const page = await stranger.newPage()
      await page.goto(served.url)
      await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor()
      await look(page, 'sign-in')
      await stranger.close()

      const { page: bob } = await openPage(browser, served.linkFor('bob'), view)
      const message = await messagePath('east-1')
      for (const path of ['', 'messages', message, `campaigns/${campaign}`, 'consumers/invoice_booking']) {
        await bob.goto(at(path))
        await settled(bob)
        await look(bob, path || 'overview')
      }
      for (const [path, name] of [
        ['approvals', 'Review and approve…'],
        [`campaigns/${campaign}`, 'Approve…'],
        [message, 'Quarantine…'],
      ] as const) {
        await bob.goto(at(path))
        await settled(bob)
        await bob.getByRole('button', { name, exact: true }).first().click()
        const dialog = bob.getByRole('dialog')
        await until('the dialog has loaded', async () => !(await dialog.innerText()).includes('Loading…'))
        await look(bob, `${path} ${name}`)
      }
      await bob.context().close()
      assert.deepEqual(found, [])
    })

  it('are enough for a whole act with the keyboard alone', async () => {
    const { page } = await openPage(browser, served.linkFor('ann'))
    const keys = page.keyboard
    const focused = () =>
      page.evaluate(`(() => {
        const one = document.activeElement
        return one.getAttribute('aria-label') ?? one.labels?.[0]?.innerText ?? one.innerText ?? ''
      })()`) as Promise<string>
    const tabTo = async (wanted: RegExp) => {
      const passed: string[] = []
      for (let n = 0; n < 120; n++) {
        await keys.press('Tab')
        const name = await focused()
        if (wanted.test(name.trim())) return
        passed.push(name.trim().slice(0, 30))
      }
      assert.fail(`no ${wanted} among ${passed.join(' | ')}`)
    }
    await tabTo(/^Messages/)
    await keys.press('Enter')
    await until('the new page has the focus', async () => (await focused()) === 'Messages')
    await tabTo(/^Search held messages/)
    await keys.type('consumer:invoice_booking message:south-1')
    await keys.press('Enter')
    await page.waitForURL(/south-1/)
    const boxes = page.getByLabel(/^Select message/)
    await until('one message is shown', async () => (await boxes.count()) === 1)
    await tabTo(/^Select message/)
    await keys.press('Space')
    await tabTo(/^Skip…$/)
    await keys.press('Enter')
    await page.getByText(/Exactly 1 message/).waitFor()
    await tabTo(/^Reason/)
    await keys.type('a test of the sender')
    await tabTo(/^Skip$/)
    await keys.press('Enter')
    await page.getByText(/Skipped 1 message/).waitFor()
    const { rows } = await incident.pool.query(
      `select reason from onceward.audit where action = 'parked skip' and outcome = 'done'`,
    )
    assert.deepEqual(rows, [{ reason: 'a test of the sender' }])
  })

  it('show names with markup, right-to-left text and no end as text', async () => {
    const { pool } = incident
    const names = [markup, rightToLeft, long]
    await pool.query(
      `insert into onceward.consumer (name, generation, owner, risk)
       select name, 1, name, 'projection' from unnest($1::text[]) name`,
      [names],
    )
    await pool.query(`
      insert into onceward.run (consumer_id, instance, handler_version, mode)
      select id, name, name, 'live' from onceward.consumer where owner = name`)
    await pool.query(`
      insert into onceward.reader (consumer_name, kind, source, consumer_group, position_kept_by)
      select name, 'kafka', name, name, 'store' from onceward.consumer where owner = name`)
    await pool.query(`
      insert into onceward.held (consumer_id, run_id, state, message_id, digest, reason, failure_class, code, attempts,
        order_key, business_key, message_type, origin, delivery_count, headers, properties, body)
      select c.id, r.id, 'parked', c.name, sha256(c.name::bytea), c.name, 'permanent', 'hostile', 1, c.name, c.name, c.name,
        c.name, 1, '{}', '{}', '\\x7b7d'
      from onceward.consumer c join onceward.run r on r.consumer_id = c.id where c.owner = c.name`)
    await pool.query(`
      insert into onceward.ledger (consumer_name, target, effect_key, state, attempts, due_at, doubt_since, run_id, message_id,
        request_digest, content_type, body, last_error)
      select c.name, c.name, c.name, 'unknown', 1, 'infinity', clock_timestamp(), r.id, c.name, sha256(c.name::bytea),
        'application/json', '\\x7b7d', c.name
      from onceward.consumer c join onceward.run r on r.consumer_id = c.id where c.owner = c.name`)
    const found: string[] = []
    for (const person of names) {
      const acting = await Client.signIn(served.linkFor(person))
      const { rows } = (await acting.get(`messages?q=code:hostile`)).body
      const one = rows.find(({ consumer }: { consumer: string }) => consumer === person)
      const classified = { label: person, assignee: person, note: person }
      const frozen = (await acting.post('selections', { consumer: person, ids: [one.id] })).body.id
      assert.equal((await acting.post(`selections/${frozen}/classify`, classified)).status, 200)
      assert.equal((await acting.post(`selections/${frozen}/delete`, { because: person })).status, 200)
      const [effect] = (await acting.get(`ledger?consumer=${encodeURIComponent(person)}`)).body.effects
      for (const width of person === rightToLeft ? [390] : [1280, 390]) {
        const view = { viewport: { width, height: 860 } }
        const { page, errors } = await openPage(browser, served.linkFor(person), view)
        for (const path of [
          ...['', 'messages?q=code:hostile', `messages/${one.id}`, 'approvals', 'decisions'],
          ...[`ledger/${effect.id}`, 'audit', `consumers/${encodeURIComponent(person)}`],
        ]) {
          await page.goto(at(path))
          await settled(page)
          const text = await page.locator('body').innerText()
          if (!text.includes(person)) found.push(`${person} is not on ${path}`)
          const overflow = await sideways(page)
          if (overflow > 0) found.push(`${path} scrolls sideways by ${overflow} at ${width}, for ${person}`)
          if ((await page.locator('img[src="x"]').count()) > 0)
            found.push(`${path} made an element of ${person}`)
        }
        assert.equal(await page.evaluate('window.hit'), undefined)
        assert.deepEqual(errors, [])
        await page.context().close()
      }
    }
    assert.deepEqual(found, [])
  })
})

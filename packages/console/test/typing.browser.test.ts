import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { until } from 'onceward/testing'
import type { Browser, Locator, Page } from 'playwright-core'
import type { ServedConsole } from '../src/server/serve-console.ts'
import { openBrowser, openPage, skipWithoutBrowser } from './bench/browser.ts'
import { addOtherTeams } from './bench/busy-database.ts'
import { Client } from './bench/client.ts'
import { type Incident, openIncident } from './bench/incident.ts'

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const inDialog = (page: Page, name: string) =>
  page.getByRole('dialog').getByRole('button', { name, exact: true })
const because = (page: Page, text: string) => page.getByRole('dialog').getByLabel('Reason').fill(text)

/** Keeps the last overview of the stream, before the page has it. */
const recordOverview = `
  const Native = EventSource
  window.EventSource = class extends Native {
    constructor(url) {
      super(url)
      this.addEventListener('overview', ({ data }) => (window.lastOverview = data))
    }
  }`

/** Fills and changes every control of the dialog, and returns what they show then. */
async function fillAll(dialog: Locator): Promise<readonly string[]> {
  for (const select of await dialog.locator('select').all()) await select.selectOption({ index: 1 })
  for (const box of await dialog.getByRole('checkbox').all()) await box.setChecked(!(await box.isChecked()))
  const texts = await dialog.locator('input:not([type=checkbox]), textarea').all()
  for (const [index, text] of texts.entries())
    await text.fill((await text.getAttribute('type')) === 'number' ? `${index + 2}` : `{"typed": ${index}}`)
  return shown(dialog)
}

const shown = (dialog: Locator) =>
  dialog.locator('input, select, textarea').evaluateAll((found: readonly unknown[]) => {
    const controls = found as readonly { readonly value: string; readonly checked?: boolean }[]
    return controls.map(({ value, checked }) => `${value} ${checked}`)
  })

describe('what a person types', await skipWithoutBrowser(), () => {
  let incident: Incident
  let served: ServedConsole
  let browser: Browser
  let ann: Page
  let bob: Page
  let annApi: Client
  let late = 0

  before(async () => {
    browser = await openBrowser()
    incident = await openIncident()
    await addOtherTeams(incident)
    served = await incident.serve({ auth: { kind: 'link' }, campaigns: { database: incident.databaseUrl } })
    ann = (await openPage(browser, served.linkFor('ann'))).page
    bob = (await openPage(browser, served.linkFor('bob'))).page
    annApi = await Client.signIn(served.linkFor('ann'))
    for (const page of [ann, bob]) await page.addInitScript(recordOverview)
  })
  after(async () => {
    await browser?.close()
    await incident?.close()
  })

  const at = (path: string) => `${served.url}/${path}`
  const id = async (query: string) => (await incident.pool.query(`${query} limit 1`)).rows[0].id as string
  /** A consumer more, before all others in every list; and the page has drawn it. */
  const liveUpdate = async (page: Page) => {
    const name = `a_late_consumer_${String(99 - late++).padStart(2, '0')}`
    await incident.pool.query(
      `insert into onceward.consumer (name, generation, owner, risk) values ($1, 1, 'late', 'projection')`,
      [name],
    )
    await until('the page has the change', () =>
      page.evaluate(`(window.lastOverview ?? '').includes('"${name}"')`),
    )
    await page.evaluate('new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)))')
  }
  const deletion = async (message: string) => {
    const q = `message:${message}`
    const selection = (await annApi.post('selections', { consumer: 'invoice_booking', q })).body.id
    const { status, body } = await annApi.post(`selections/${selection}/delete`, { because: 'a test' })
    assert.equal(status, 200, JSON.stringify(body))
  }
  const campaign = async () => {
    const selection = { of: 'parked', keys: ['south'] }
    const asked = { consumer: 'invoice_booking', mode: 'replay', because: 'a test', selection }
    return (await annApi.post('campaigns', asked)).body.id as string
  }

  it('into a plan is enough to create it, also when the figures arrive later', async () => {
    const arrive = Promise.withResolvers<void>()
    const held = /api\/(live|overview)/
    await ann.route(held, async route => {
      await arrive.promise
      await route.continue().catch(() => {}) // another page has been opened
    })
    await ann.goto(at('campaigns'))
    await button(ann, 'Plan a campaign…').click()
    await ann.getByLabel('Messages from').selectOption('parked')
    await ann.getByLabel('Only these keys (optional)').fill('south')
    await because(ann, 'the account was opened')
    assert.equal(await inDialog(ann, 'Create').isDisabled(), true)
    arrive.resolve()
    await until('a consumer is chosen', () => inDialog(ann, 'Create').isEnabled())
    const chosen = ann.getByLabel('Consumer')
    assert.equal(await chosen.inputValue(), 'invoice_booking')
    await liveUpdate(ann)
    assert.equal(await chosen.inputValue(), 'invoice_booking')
    await inDialog(ann, 'Create').click()
    await ann.getByRole('heading', { level: 1, name: /replay of invoice_booking/ }).waitFor()
    await ann.unroute(held)
  })

  it('into any dialog stays while the live figures change', async () => {
    const { pool } = incident
    await pool.query(`
      insert into onceward.brake (consumer_id, run_id, message_type, cause, messages, handler_version)
      select c.id, min(r.id), 'Typed', 'a cause', 20, '1' from onceward.consumer c join onceward.run r on r.consumer_id = c.id
      where c.name = 'payment_capture' group by c.id`)
    await deletion('west-2')
    const message = `messages/${await id(`select id from onceward.held where message_id = 'east-1'`)}`
    const effect = `ledger/${await id(`select id from onceward.ledger where state = 'unknown'`)}`
    const dialogs = [
      ...['Redrive…', 'Fix payload…', 'Note a fix…', 'Classify…', 'Delete…'].map(name => [message, name]),
      ...['Redrive all…', 'Save this search…'].map(name => ['messages?q=consumer:payment_capture', name]),
      ['campaigns', 'Plan a campaign…'],
      [`campaigns/${await campaign()}`, 'Cancel it…'],
      ['approvals', 'Withdraw…'],
      [effect, 'It happened…'],
      ['outbox', 'Drop…'],
      ['decisions', 'Accept…'],
      ['decisions', 'Add…'],
      ['decisions', 'Allow a second reader…'],
      ['decisions', 'Rename parcel_tracking'],
      ['consumers/payment_capture', 'Release…'],
    ] as const
    for (const [path, name] of dialogs) {
      await ann.goto(at(path!))
      await button(ann, name!).click()
      const dialog = ann.getByRole('dialog')
      await dialog.waitFor()
      const typed = await fillAll(dialog)
      assert.ok(typed.length > 0, `${path} ${name} has nothing to type`)
      await liveUpdate(ann)
      assert.deepEqual(await shown(dialog), typed, `${path} ${name}`)
    }
  })

  it('into the search stays, and a refresh takes neither its button nor its rows', async () => {
    await ann.goto(at('messages?q=code:no_account'))
    const box = ann.getByLabel('Search held messages')
    await ann
      .getByLabel(/^Select message/)
      .first()
      .waitFor()
    const asked = Promise.withResolvers<void>()
    const go = Promise.withResolvers<void>()
    await ann.route(/api\/messages\?/, async route => {
      asked.resolve()
      await go.promise
      await route.continue().catch(() => {}) // the next search has cancelled it
    })
    await box.fill('code:wrong_currency')
    await incident.pool.query(
      `update onceward.held set code = 'no_such_account' where message_id = 'south-3'`,
    )
    await asked.promise
    assert.equal(await box.inputValue(), 'code:wrong_currency')
    await ann.getByRole('search').getByRole('button', { name: 'Search', exact: true }).click()
    go.resolve()
    await ann.waitForURL(/wrong_currency/)
    await ann.getByRole('link', { name: 'east-1', exact: true }).waitFor()
    await ann.unroute(/api\/messages\?/)
  })

  it('to decline stays when another person decides first, who is then named by the refusal', async () => {
    await deletion('east-1')
    await bob.goto(at('approvals'))
    await bob
      .getByRole('region', { name: /Deletion/ })
      .first()
      .waitFor()
    await button(bob, 'Decline…').first().click()
    await because(bob, 'these are needed')
    const requests = (await annApi.get('approvals')).body.approvals
    for (const one of requests.filter(({ state }: { state: string }) => state === 'requested'))
      await annApi.post(`approvals/${one.id}/decline`, { because: 'withdrawn' })
    await bob.getByText('No request waits.').waitFor()
    assert.equal(await bob.getByRole('dialog').getByLabel('Reason').inputValue(), 'these are needed')
    await inDialog(bob, 'Decline').click()
    await bob.getByRole('dialog').getByRole('alert').waitFor()
  })

  it('to release a brake stays when the brake ends by itself', async () => {
    await bob.goto(at('consumers/payment_capture'))
    await button(bob, 'Release…').click()
    await because(bob, 'the cause is mended')
    await incident.pool.query('update onceward.brake set ended_at = clock_timestamp()')
    await until('the brake is gone', async () => (await button(bob, 'Release…').count()) === 0)
    assert.equal(await bob.getByRole('dialog').getByLabel('Reason').inputValue(), 'the cause is mended')
    await inDialog(bob, 'Release').click()
    await bob
      .getByRole('dialog')
      .getByRole('alert')
      .getByText(/has not paused event type "Typed"/)
      .waitFor()
  })

  it('to approve a campaign does not approve a plan that replaced the one that was read', async () => {
    const of = await campaign()
    assert.equal((await annApi.post(`campaigns/${of}/preview`, { dryRun: false })).status, 200)
    await bob.goto(at(`campaigns/${of}`))
    await button(bob, 'Approve…').click()
    await because(bob, 'read the plan')
    const digest = async () => (await annApi.get(`campaigns/${of}`)).body.campaign.planDigest as string
    const before = await digest()
    await incident.pool.query(`update onceward.held set state = 'quarantined' where message_id = 'south-3'`)
    assert.equal((await annApi.post(`campaigns/${of}/preview`, { dryRun: false })).status, 200)
    const replaced = await digest()
    assert.notEqual(replaced, before)
    await bob.getByText(replaced).first().waitFor()
    await inDialog(bob, 'Approve').click()
    await bob.getByRole('dialog').getByRole('alert').waitFor()
    assert.equal((await annApi.get(`campaigns/${of}`)).body.campaign.approvedBy, null)
  })
})

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { defineConsumer, jsonBigintCodec } from 'onceward'
import type { Browser, Page } from 'playwright-core'
import invoiceBooking from '../../../examples/09-parking-drill/invoice-booking.ts'
import { InvoiceReceived } from '../../../examples/09-parking-drill/messages.ts'
import type { ServedConsole } from '../src/server/serve-console.ts'
import { openBrowser, openPage, skipWithoutBrowser } from './bench/browser.ts'
import { addOtherTeams } from './bench/busy-database.ts'
import { type Incident, openIncident } from './bench/incident.ts'

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const inDialog = (page: Page, name: string) =>
  page.getByRole('dialog').getByRole('button', { name, exact: true })

/** Numbers that JavaScript cannot keep, a member that occurs twice, and white space of its sender. */
const original =
  '{ "messageId":"east-1","accountId":"east","currency":"USD","amount":100,\r\n"ref":9007199254740993,"rate":10.00,"note":"a","note":"b" }'
const written = [/"ref": 9007199254740993,/, /"rate": 10\.00,/, /"note": "a",\s+"note": "b"/]

describe('a fix in the browser', await skipWithoutBrowser(), () => {
  let incident: Incident
  let served: ServedConsole
  let browser: Browser
  let ann: Page
  let bob: Page
  let id: string

  before(async () => {
    browser = await openBrowser()
    incident = await openIncident()
    await addOtherTeams(incident)
    const { rows } = await incident.pool.query(
      `update onceward.held set body = convert_to($1, 'UTF8') where message_id = 'east-1' returning id::text`,
      [original],
    )
    id = rows[0].id
    const message = { schema: InvoiceReceived, codec: jsonBigintCodec }
    const contract = defineConsumer({ ...invoiceBooking.declared, message })
    served = await incident.serve({ auth: { kind: 'link' }, contracts: [contract as never] })
    ann = (await openPage(browser, served.linkFor('ann'))).page
    bob = (await openPage(browser, served.linkFor('bob'))).page
  })
  after(async () => {
    await browser?.close()
    await incident?.close()
  })

  const body = async () =>
    (
      await incident.pool.query(
        `select convert_from(body, 'UTF8') as body from onceward.held where id = $1`,
        [id],
      )
    ).rows[0].body

  it('shows numbers and repeated members as they are written, in the payload and in the editor', async () => {
    await ann.goto(`${served.url}/messages/${id}`)
    const payload = await ann.locator('pre.payload').innerText()
    await button(ann, 'Fix payload…').click()
    const editor = await ann.getByLabel('New payload').inputValue()
    for (const pattern of written) {
      assert.match(payload, pattern)
      assert.match(editor, pattern)
    }
  })

  it('checks the schema of the contract, which it shows, before anything is saved', async () => {
    await ann.getByText('Schema of the contract').click()
    await ann.getByText(/"\$schema": "https:\/\/json-schema\.org\/draft\/2020-12\/schema"/).waitFor()
    const editor = ann.getByLabel('New payload')
    const before = await editor.inputValue()
    await editor.fill(before.replace('"amount": 100', '"amount": "much"'))
    await inDialog(ann, 'Show the difference').click()
    await ann
      .getByRole('dialog')
      .getByRole('alert')
      .getByText(/cannot be read: .*amount/)
      .waitFor()
    assert.equal(await inDialog(ann, 'Save the fix').count(), 0)
    await editor.fill(before)
    assert.equal(await body(), original)
  })

  it('saves what was typed and nothing else, after a difference of exactly that', async () => {
    const editor = ann.getByLabel('New payload')
    const before = await editor.inputValue()
    await editor.fill(before.replace('USD', 'EUR'))
    await editor.fill((await editor.inputValue()).replace('10.00', '12.50'))
    await inDialog(ann, 'Show the difference').click()
    const diff = ann.getByRole('group', { name: 'Difference' })
    await diff.waitFor()
    const changed = (await diff.innerText()).split('\n').filter(line => /^[-+]/.test(line.trim()))
    assert.deepEqual(
      changed.map(line => line.replaceAll(/\s+/g, ' ').trim()),
      ['- "currency": "USD",', '+ "currency": "EUR",', '- "rate": 10.00,', '+ "rate": 12.50,'],
    )
    await ann.getByRole('dialog').getByLabel('Reason').fill('sender confirmed')
    await ann.getByText(/^onceward parked fix .* --because 'sender confirmed'$/).waitFor()
    await inDialog(ann, 'Save the fix').click()
    await ann.getByText(/its fix needs the approval/).waitFor()
    assert.equal(await body(), original.replace('USD', 'EUR').replace('10.00', '12.50'))
  })

  it('is approved by a person who sees the same numbers', async () => {
    await bob.goto(`${served.url}/approvals`)
    await button(bob, 'Review and approve…').click()
    const shown = await bob.getByRole('dialog').locator('pre.payload').innerText()
    for (const pattern of [written[0]!, /"rate": 12\.50,/, written[2]!]) assert.match(shown, pattern)
  })

  it('of another page: the evidence of a call has its mail, its kind and the digest of the answer', async () => {
    const mail = JSON.stringify({ to: ['ada@example.com'], subject: 'Your loan', text: 'x' })
    const { rows } = await incident.pool.query(
      `update onceward.ledger set effect_type = 'email', body = convert_to($1, 'UTF8'), response_digest = sha256('answer')
       where id = (select min(id) from onceward.ledger where state = 'unknown')
       returning id::text, encode(response_digest, 'hex') as digest`,
      [mail],
    )
    await ann.goto(`${served.url}/ledger/${rows[0].id}`)
    const evidence = ann.getByRole('region', { name: 'Evidence' })
    for (const text of ['ada@example.com', 'Your loan', 'email', rows[0].digest])
      await evidence.getByText(text, { exact: true }).waitFor()
  })

  it('of another page: a check of the chain that fails says so', async () => {
    await ann.route(/api\/audit\/verify/, route =>
      route.fulfill({
        status: 503,
        json: { error: { code: 'x', message: 'The database does not answer.' } },
      }),
    )
    await ann.goto(`${served.url}/audit`)
    await ann.getByText('The chain was not verified: The database does not answer.').waitFor()
    assert.equal(await ann.getByText('The chain is being verified…').count(), 0)
    await ann.unroute(/api\/audit\/verify/)
    await button(ann, 'Verify the chain').click()
    await ann.getByText('The chain is intact').waitFor()
  })

  it('of another page: what waits at a broker is unknown until a process reports it', async () => {
    await incident.pool.query(`update onceward.run set lag = null, lag_at = null`)
    await ann.goto(served.url)
    const flow = ann.getByRole('article', { name: 'payment_capture' })
    await flow.getByText('waiting').waitFor()
    assert.match((await flow.innerText()).replaceAll('\n', ' '), /waiting –/)
  })
})

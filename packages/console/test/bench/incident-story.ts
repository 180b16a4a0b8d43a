import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { until } from 'onceward/testing'
import type { Browser, Page } from 'playwright-core'
import type { ServedConsole } from '../../src/server/serve-console.ts'
import { openBrowser, openPage } from './browser.ts'
import { type Incident, openIncident } from './incident.ts'
import type { InvoiceSource } from './invoice-sources.ts'

const button = (page: Page, name: string | RegExp) =>
  page.getByRole('button', { name, exact: typeof name === 'string' })
const inDialog = (page: Page, name: string) =>
  page.getByRole('dialog').getByRole('button', { name, exact: true })
const because = (page: Page, text: string) => page.getByRole('dialog').getByLabel('Reason').fill(text)
const openSection = (page: Page, name: RegExp) =>
  page.getByRole('navigation', { name: 'Sections' }).getByRole('link', { name }).click()
const openMessage = async (page: Page, id: string) => {
  await openSection(page, /^Messages/)
  await page.getByRole('link', { name: id, exact: true }).click()
  await page.getByRole('heading', { level: 1, name: id }).waitFor()
}

/** The whole incident without a terminal, in two browsers. `open`: where its invoices come from. */
export function incidentStory(
  place: string,
  skip: { skip?: string },
  open: () => Promise<InvoiceSource | undefined>,
) {
  describe(`the incident of example 09 in the browser, from ${place}`, skip, () => {
    let incident: Incident
    let served: ServedConsole
    let browser: Browser
    let ann: { page: Page; errors: string[] }
    let bob: { page: Page; errors: string[] }

    before(async () => {
      // Builds the pages, which a console looks for when it starts.
      browser = await openBrowser()
      const source = await open()
      incident = await openIncident(source === undefined ? {} : { source })
      served = await incident.serve({ auth: { kind: 'link' } })
      ann = await openPage(browser, served.linkFor('ann'))
      bob = await openPage(browser, served.linkFor('bob'))
    })
    after(async () => {
      await browser?.close()
      await incident?.close()
    })

    it('begins with what needs attention', async () => {
      await ann.page.getByRole('link', { name: /warning invoice_booking 8 parked messages/ }).click()
      await ann.page.getByRole('heading', { level: 1, name: 'Messages' }).waitFor()
      assert.match(ann.page.url(), /q=consumer%3Ainvoice_booking(%20|\+)state%3Aparked/)
      assert.ok(!ann.page.url().includes('link='))
      await ann.page.getByText('south-1').waitFor()
    })

    it('redrives a group after the account was opened, with the messages behind it', async () => {
      const { page } = ann
      await button(page, /no_account/).click()
      await incident.pool.query(`insert into account (id) values ('south')`)
      await button(page, 'Redrive all…').click()
      await page.getByText('Exactly 1 message').waitFor()
      await page.getByText(/and 2 behind them \(1 key\)/).waitFor()
      await because(page, 'account opened')
      await page.getByText('onceward parked redrive', { exact: false }).waitFor()
      await inDialog(page, 'Redrive').click()
      await page.getByText('3 applied').waitFor()
      assert.ok((await incident.booked()).includes('south-3'))
    })

    it('fixes a payload: the difference first, then a second person in another browser', async () => {
      await openMessage(ann.page, 'east-1')
      await button(ann.page, 'Fix payload…').click()
      const editor = ann.page.getByLabel('New payload')
      await editor.fill((await editor.inputValue()).replace('USD', 'EUR'))
      await inDialog(ann.page, 'Show the difference').click()
      await ann.page.getByText('+ "currency": "EUR",').waitFor()
      await because(ann.page, 'sender confirmed')
      await inDialog(ann.page, 'Save the fix').click()
      await ann.page.getByText(/its fix needs the approval of a person other than ann/).waitFor()

      await openSection(ann.page, /^Approvals/)
      await button(ann.page, 'Review and approve…').click()
      await because(ann.page, 'it is mine')
      await inDialog(ann.page, 'Approve').click()
      await ann.page
        .getByRole('alert')
        .getByText(/requester cannot approve/i)
        .waitFor()
      await inDialog(ann.page, 'Cancel').click()

      await openSection(bob.page, /^Approvals/)
      await button(bob.page, 'Review and approve…').click()
      await bob.page.getByRole('dialog').getByText('+ "currency": "EUR",').waitFor()
      await because(bob.page, 'read the invoice')
      await inDialog(bob.page, 'Approve').click()
      await bob.page.getByText('approved', { exact: true }).waitFor()

      await openMessage(ann.page, 'east-1')
      const fixes = ann.page.getByRole('region', { name: 'Fixes' })
      await fixes.getByText('- "currency": "USD",').waitFor()
      await fixes.getByText('+ "currency": "EUR",').waitFor()
      const inOrder = ann.page.getByRole('list', { name: 'In this order' }).getByRole('listitem')
      assert.deepEqual(
        (await inOrder.allInnerTexts()).map(text => /east-\d/.exec(text)?.[0]),
        ['east-1', 'east-2'],
      )
      await button(ann.page, 'Redrive…').click()
      await because(ann.page, 'sender confirmed')
      await inDialog(ann.page, 'Redrive').click()
      await ann.page.getByText('2 applied').waitFor()
    })

    it('skips a test message, and deletes one with personal data by two people', async () => {
      await openMessage(ann.page, 'west-1')
      await button(ann.page, 'Skip…').click()
      await because(ann.page, 'a test of the sender')
      await inDialog(ann.page, 'Skip').click()
      await ann.page.getByText('Skipped 1 message; 2 messages behind continue.').waitFor()
      await ann.page.getByRole('heading', { level: 1, name: 'Messages' }).waitFor()
      await until('west-3 is parked for its own reason', async () => {
        const { rows } = await incident.pool.query(
          `select code from onceward.held where message_id = 'west-3'`,
        )
        return rows[0]?.code === 'wrong_currency'
      })
      const requestDeletion = async (reason: string) => {
        await openMessage(ann.page, 'west-3')
        await button(ann.page, 'Delete…').click()
        await because(ann.page, reason)
        await inDialog(ann.page, 'Request deletion').click()
      }
      await requestDeletion('wrong ticket')
      await button(bob.page, 'Decline…').click()
      await because(bob.page, 'the ticket is about another message')
      await inDialog(bob.page, 'Decline').click()
      await ann.page.getByText('the ticket is about another message').waitFor()
      await ann.page.getByText('declined', { exact: true }).waitFor()

      await requestDeletion('personal data')
      const request = bob.page.getByRole('region', { name: 'Deletion of 1 message of invoice_booking' })
      await request.getByRole('button', { name: 'Review and approve…' }).click()
      await because(bob.page, 'personal data')
      await inDialog(bob.page, 'Approve').click()
      await button(ann.page, 'Erase…').click()
      await inDialog(ann.page, 'Erase').click()
      await ann.page.getByText('Deleted 1 message.').waitFor()
      await ann.page.getByText('executed', { exact: true }).waitFor()
    })

    it('ends with every invoice booked once in order, an intact chain, and no error of a script', async () => {
      await openSection(ann.page, /^Audit/)
      await ann.page.getByText('The chain is intact').waitFor()
      const expected = [
        'east-1',
        'east-2',
        'north-1',
        'north-2',
        'north-3',
        'south-1',
        'south-2',
        'south-3',
        'west-2',
      ]
      assert.deepEqual(await incident.booked(), expected)
      await openSection(ann.page, /^Overview/)
      await ann.page.getByText('Nothing needs attention now.').waitFor()
      assert.deepEqual([...ann.errors, ...bob.errors], [])
    })
  })
}

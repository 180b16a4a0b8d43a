import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import type { ServedConsole } from '../src/server/serve-console.ts'
import { openBrowser, openPage, skipWithoutBrowser } from './bench/browser.ts'
import { type Incident, openIncident } from './bench/incident.ts'

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const confirm = async (page: Page, verb: string, because?: string) => {
  const dialog = page.getByRole('dialog')
  if (because !== undefined) await dialog.getByLabel('Reason').fill(because)
  await dialog.getByRole('button', { name: verb, exact: true }).click()
}

describe('a campaign in the browser', await skipWithoutBrowser(), () => {
  let incident: Incident
  let served: ServedConsole
  let browser: Browser
  let ann: Page
  let bob: Page

  before(async () => {
    browser = await openBrowser()
    incident = await openIncident()
    const campaigns = { database: incident.databaseUrl }
    served = await incident.serve({ auth: { kind: 'link' }, campaigns })
    ann = (await openPage(browser, served.linkFor('ann'))).page
    bob = (await openPage(browser, served.linkFor('bob'))).page
  })
  after(async () => {
    await browser?.close()
    await incident?.close()
  })

  it('is planned and previewed by one person', async () => {
    await incident.pool.query(`insert into account (id) values ('south')`)
    await ann.goto(`${served.url}/campaigns`)
    await ann.getByText('No campaign is open.').waitFor()
    await button(ann, 'Plan a campaign…').click()
    await ann.getByLabel('Messages from').selectOption('parked')
    await ann.getByLabel('Only these keys (optional)').fill('south')
    await confirm(ann, 'Create', 'the account was opened')
    await ann.getByRole('heading', { level: 1, name: /replay of invoice_booking/ }).waitFor()
    await ann.getByText('The same on the command line').click()
    await ann.getByText(/^onceward replay preview invoice_booking\.ts \d+$/).waitFor()
    await button(ann, 'Preview').click()
    await ann.getByRole('listitem').filter({ hasText: 'previewed, to approve' }).waitFor()
  })

  it('is refused to its requester, and approved by another person from the inbox', async () => {
    await button(ann, 'Approve…').click()
    await confirm(ann, 'Approve', 'it is mine')
    await ann.getByRole('dialog').getByRole('alert').waitFor()
    await ann.keyboard.press('Escape')
    await bob.goto(`${served.url}/approvals`)
    await bob.getByRole('link', { name: 'Review the plan' }).click()
    await button(bob, 'Approve…').click()
    await confirm(bob, 'Approve', 'read the plan')
    await bob.getByText('approved by').waitFor()
  })

  it('runs in the console, is verified and finished, with exact counts', async () => {
    await button(ann, 'Run…').click()
    await confirm(ann, 'Run')
    await button(ann, 'Verify').click()
    await button(ann, 'Finish…').click()
    await confirm(ann, 'Finish')
    await ann
      .getByRole('listitem')
      .and(ann.locator('[aria-current]'))
      .filter({ hasText: 'finished' })
      .waitFor()
    const booked = (await incident.booked()).filter(id => id.startsWith('south'))
    assert.deepEqual(booked, ['south-1', 'south-2', 'south-3'])
  })
})

import assert from 'node:assert/strict'
import { mkdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Browser, Page } from 'playwright-core'
import type { ServedConsole } from '../src/server/serve-console.ts'
import { openBrowser, openPage, skipWithoutBrowser } from './bench/browser.ts'
import { addOtherTeams, beat } from './bench/busy-database.ts'
import { type Incident, openIncident } from './bench/incident.ts'

const folder = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..', 'docs', 'pictures')
const bytesMax = 200_000

/** `ONCEWARD_PICTURES=1` writes the pictures of the documentation. Otherwise the pages only have to render. */
async function picture(page: Page, name: string, height = 900): Promise<void> {
  await page.setViewportSize({ width: 1280, height })
  const image = await page.screenshot({ animations: 'disabled' })
  assert.ok(image.length < bytesMax, `${name} has ${image.length} bytes`)
  if (process.env.ONCEWARD_PICTURES !== '1') return
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, `${name}.png`), image)
  assert.ok(statSync(join(folder, `${name}.png`)).size > 10_000)
}

describe('the pictures of the documentation', await skipWithoutBrowser(), () => {
  let incident: Incident
  let served: ServedConsole
  let browser: Browser
  let ann: { page: Page; errors: string[] }

  before(async () => {
    browser = await openBrowser()
    incident = await openIncident()
    await addOtherTeams(incident)
    served = await incident.serve({ auth: { kind: 'link' } })
    ann = await openPage(browser, served.linkFor('ann'), { viewport: { width: 1280, height: 900 } })
  })
  after(async () => {
    await browser?.close()
    await incident?.close()
  })

  it('show what needs attention, and every consumer as a flow', async () => {
    await beat(incident)
    const flow = ann.page.getByRole('article', { name: 'payment_capture' })
    await flow.getByText('2 processes').waitFor()
    // Rates are read every five seconds, so those of before the heartbeat may be shown first.
    await flow.getByText('42', { exact: true }).waitFor()
    await ann.page.getByRole('img', { name: /^Applied by payment_capture/ }).waitFor()
    await picture(ann.page, 'console-overview', 1120)
  })

  it('show groups by cause, and the selection that an act is on', async () => {
    await ann.page.goto(`${served.url}/messages?q=consumer:payment_capture`)
    await ann.page.getByLabel('Select all shown').check()
    await ann.page.getByText('50 selected').waitFor()
    await ann.page.evaluate('scrollTo(0, 0)')
    await picture(ann.page, 'console-messages')
  })

  it('show a message with its key, and the difference of a fix', async () => {
    await ann.page.goto(`${served.url}/messages?q=message:east-1`)
    await ann.page.getByRole('link', { name: 'east-1' }).click()
    await ann.page.getByRole('heading', { level: 1, name: 'east-1' }).waitFor()
    await picture(ann.page, 'console-message')
    await ann.page.getByRole('button', { name: 'Fix payload…' }).click()
    const editor = ann.page.getByLabel('New payload')
    await editor.fill((await editor.inputValue()).replace('USD', 'EUR'))
    await ann.page.getByRole('button', { name: 'Show the difference' }).click()
    await ann.page.getByText('+ "currency": "EUR",').waitFor()
    await picture(ann.page, 'console-fix')
  })

  it('show a consumer with its contract', async () => {
    await ann.page.goto(`${served.url}/consumers/invoice_booking`)
    await ann.page.getByRole('region', { name: 'Contract and promise' }).getByText('Owner').waitFor()
    await picture(ann.page, 'console-consumer')
    assert.deepEqual(ann.errors, [])
  })
})

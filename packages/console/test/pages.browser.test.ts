import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { after, before, describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { createQueue, hint, publish, queueDepth } from 'onceward/postgres'
import { until } from 'onceward/testing'
import type { Browser, Page } from 'playwright-core'
import { queue } from '../../../examples/09-parking-drill/invoice-booking.ts'
import type { ServedConsole } from '../src/server/serve-console.ts'
import { openBrowser, openPage, skipWithoutBrowser } from './bench/browser.ts'
import { type Incident, openIncident } from './bench/incident.ts'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const pages = [
  '',
  'messages',
  'redrives',
  'approvals',
  'ledger',
  'outbox',
  'decisions',
  'audit',
  'consumers/invoice_booking',
]
const hostile = [
  '<script>window.hit = 1</script>',
  '<img src=x onerror="window.hit = 1">',
  '"><svg onload=window.hit=1>',
  '\u202e\u2067txet tfel-ot-thgir\u2069',
  "'; drop table onceward.held; --",
  '=cmd|calc',
]

async function seriousFindings(page: Page): Promise<string[]> {
  await page.evaluate(axe)
  const { violations } = (await page.evaluate('axe.run()')) as {
    violations: { id: string; impact: string; nodes: { html: string }[] }[]
  }
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes[0]!.html.slice(0, 120)}`)
}

describe('the pages in a browser', await skipWithoutBrowser(), () => {
  let incident: Incident
  let served: ServedConsole
  let browser: Browser

  before(async () => {
    // Builds the pages, which a console looks for when it starts.
    browser = await openBrowser()
    incident = await openIncident()
    await createQueue(incident.pool, queue)
    await publish(
      incident.pool,
      queue,
      hostile.map((text, at) => ({
        body: { messageId: `h${at}${text}`, accountId: text, currency: text, amount: 1 },
        key: text,
      })),
    )
    const large = {
      messageId: 'large',
      accountId: 'north',
      currency: `${'<b>x</b>'.repeat(640_000)}`,
      amount: 1,
    }
    await publish(incident.pool, queue, [{ body: large, key: 'north' }])
    await hint(incident.pool, queue)
    await until('all are settled', async () => (await queueDepth(incident.pool, queue)).messages === 0)
    served = await incident.serve({ auth: { kind: 'link' }, basePath: '/ops/onceward' })
  })
  after(async () => {
    await browser?.close()
    await incident?.close()
  })

  const at = (path: string) => `${served.url}/ops/onceward/${path}`

  it('show hostile payloads, keys and names as text, and run none of them', async () => {
    const { page, errors } = await openPage(browser, served.linkFor('ann'))
    const { rows } = await incident.pool.query('select id::text from onceward.held order by id desc')
    await page.goto(at('messages'))
    await page.getByText('h0<script>window.hit = 1</script>').first().waitFor()
    for (const { id } of rows.slice(0, hostile.length + 1)) {
      await page.goto(at(`messages/${id}`))
      await page.getByRole('heading', { level: 1 }).waitFor()
    }
    assert.equal(await page.evaluate('window.hit'), undefined)
    assert.equal(await page.locator('b', { hasText: /^x$/ }).count(), 0)
    assert.deepEqual(errors, [])
  })

  for (const [scheme, width] of [
    ['light', 1280],
    ['dark', 390],
  ] as const)
    it(`have no serious finding of axe-core and no sideways scrolling: ${scheme}, ${width} wide`, async () => {
      const view = { colorScheme: scheme, viewport: { width, height: 860 } }
      const { page } = await openPage(browser, served.linkFor('ann'), view)
      const { rows } = await incident.pool.query(
        `select id::text from onceward.held where message_id = 'east-1'`,
      )
      const found: string[] = []
      for (const path of [...pages, `messages/${rows[0].id}`]) {
        await page.goto(at(path))
        await page.getByRole('heading', { level: 1 }).waitFor()
        await page.waitForLoadState('domcontentloaded')
        found.push(...(await seriousFindings(page)).map(finding => `${path || 'overview'} ${finding}`))
        const overflow = await page.evaluate(
          'document.documentElement.scrollWidth - document.documentElement.clientWidth',
        )
        if ((overflow as number) > 0) found.push(`${path || 'overview'} scrolls sideways by ${overflow}`)
      }
      assert.deepEqual(found, [])
    })

  it('go by keyboard from the search to an act', async () => {
    const { page } = await openPage(browser, served.linkFor('ann'))
    await page.goto(at('messages'))
    await page.getByLabel('Search held messages').focus()
    await page.keyboard.type('code:no_account consumer:invoice_booking')
    await page.keyboard.press('Enter')
    const box = page.getByLabel(/^Select message/).first()
    await page.waitForURL(/code/)
    await until('one message is shown', async () => (await page.getByLabel(/^Select message/).count()) >= 1)
    await box.focus()
    await page.keyboard.press('Space')
    await page
      .getByRole('toolbar', { name: 'Acts on the selection' })
      .getByRole('button', { name: 'Skip…' })
      .focus()
    await page.keyboard.press('Enter')
    await page.getByText(/Exactly 1 message/).waitFor()
    await page.keyboard.press('Escape')
    await until('the dialog is closed', async () => (await page.getByRole('dialog').count()) === 0)
  })

  it('load with at most 120 kB compressed', async () => {
    const { page } = await openPage(browser, served.linkFor('ann'))
    let bytes = 0
    page.on('response', response => {
      if (/assets|onceward\/$/.test(response.url()))
        void response.body().then(body => (bytes += gzipSync(body).length))
    })
    await page.goto(at(''), { waitUntil: 'load' })
    await until('the scripts are measured', async () => bytes > 10_000)
    assert.ok(bytes <= 120_000, `${bytes} bytes`)
  })
})

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { createQueue, hint, publish, queueDepth } from 'onceward/postgres'
import { until } from 'onceward/testing'
import type { Browser, Response } from 'playwright-core'
import { queue } from '../../../examples/09-parking-drill/invoice-booking.ts'
import type { ServedConsole } from '../src/server/serve-console.ts'
import { seriousFindings, settled, sideways } from './bench/axe.ts'
import { openBrowser, openPage, skipWithoutBrowser } from './bench/browser.ts'
import { addOtherTeams } from './bench/busy-database.ts'
import { Client } from './bench/client.ts'
import { freePort } from './bench/free-port.ts'
import { type Incident, openIncident } from './bench/incident.ts'

const pages = [
  ...['', 'messages', 'redrives', 'approvals', 'campaigns', 'ledger', 'outbox', 'decisions', 'audit'],
  ...['consumers/invoice_booking', 'consumers/parcel_tracking', 'no-such-page'],
]
const dialogs = (message: string) =>
  [
    [message, 'Redrive…'],
    [message, 'Fix payload…'],
    [message, 'Delete…'],
    ['campaigns', 'Plan a campaign…'],
    ['decisions', 'Allow a second reader…'],
  ] as const
const hostile = [
  '<script>window.hit = 1</script>',
  '<img src=x onerror="window.hit = 1">',
  '"><svg onload=window.hit=1>',
  '\u202e\u2067txet tfel-ot-thgir\u2069',
  "'; drop table onceward.held; --",
  '=cmd|calc',
]

describe('the pages in a browser', await skipWithoutBrowser(), () => {
  let incident: Incident
  let served: ServedConsole
  let browser: Browser

  before(async () => {
    // Builds the pages, which a console looks for when it starts.
    browser = await openBrowser()
    incident = await openIncident()
    await addOtherTeams(incident)
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
    const ann = await Client.signIn(served.linkFor('ann'))
    const q = 'consumer:invoice_booking message:south-1'
    const { id } = (await ann.post('selections', { consumer: 'invoice_booking', q })).body
    await ann.post(`selections/${id}/redrive`, { because: 'a try', ramp: false })
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
      const { rows } = await incident.pool.query(`
        select 'messages/' || id as path from onceward.held where message_id = 'east-1'
        union all (select 'redrives/' || request_id from onceward.redrive limit 1)
        union all (select 'ledger/' || id from onceward.ledger where state = 'unknown' limit 1)`)
      const found: string[] = []
      for (const path of [...pages, ...rows.map(row => row.path as string)]) {
        await page.goto(at(path))
        await settled(page)
        found.push(...(await seriousFindings(page)).map(finding => `${path || 'overview'} ${finding}`))
        const overflow = await sideways(page)
        if (overflow > 0) found.push(`${path || 'overview'} scrolls sideways by ${overflow}`)
      }
      for (const [path, title] of dialogs(rows[0].path)) {
        await page.goto(at(path))
        await settled(page)
        await page.getByRole('button', { name: title, exact: true }).first().click()
        await page.getByRole('dialog').waitFor()
        found.push(...(await seriousFindings(page)).map(finding => `${path} ${title} ${finding}`))
      }
      assert.deepEqual(found, [])
    })

  it('use only what the OpenAPI document describes', async () => {
    const { page } = await openPage(browser, served.linkFor('ann'))
    const asked: string[] = []
    page.on('request', request => {
      const { pathname, searchParams } = new URL(request.url())
      const path = pathname.split('/ops/onceward/api/')[1]
      if (path === undefined) return
      asked.push(`${request.method()} ${path}`)
      for (const screen of searchParams.getAll('screen')) asked.push(`GET ${screen.split('?')[0]}`)
    })
    const { rows } = await incident.pool.query('select min(id)::text as id from onceward.held')
    for (const path of [...pages, `messages/${rows[0].id}`]) {
      await page.goto(at(path))
      await settled(page)
    }
    const { paths } = await (await page.request.get(at('api/openapi.json'))).json()
    const described = Object.entries(paths as Record<string, object>).flatMap(([path, methods]) =>
      Object.keys(methods).map(
        method => new RegExp(`^${method.toUpperCase()} ${path.slice(1).replaceAll(/\{\w+\}/g, '[^/]+')}$`),
      ),
    )
    const unknown = asked.filter(one => !described.some(known => known.test(one)))
    assert.ok(new Set(asked).size > 15, [...new Set(asked)].join(', '))
    assert.deepEqual(unknown, [])
  })

  it('go by keyboard from the search to an act', async () => {
    const { page } = await openPage(browser, served.linkFor('ann'))
    const focused = () => page.locator(':focus').innerText()
    await page.keyboard.press('Tab')
    assert.equal(await focused(), 'Skip to the content')
    await page.keyboard.press('Enter')
    assert.equal(await focused(), 'Overview')
    await page
      .getByRole('navigation', { name: 'Sections' })
      .getByRole('link', { name: /^Messages/ })
      .focus()
    await page.keyboard.press('Enter')
    await until('the title of the new page has the focus', async () => (await focused()) === 'Messages')
    await page.getByLabel('Search held messages').focus()
    await page.keyboard.type('code:no_account consumer:invoice_booking')
    await page.keyboard.press('Enter')
    const box = page.getByLabel(/^Select message/).first()
    await page.waitForURL(/code/)
    await until('one message is shown', async () => (await page.getByLabel(/^Select message/).count()) === 1)
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

  it('never show the rows of one search under another', async () => {
    const { page } = await openPage(browser, served.linkFor('ann'))
    const first = Promise.withResolvers<void>()
    const second = Promise.withResolvers<void>()
    await page.route(/api\/messages\?/, async route => {
      await (route.request().url().includes('no_account') ? second : first).promise
      await route.continue().catch(() => {}) // the page has cancelled it
    })
    const shown = () => page.getByLabel(/^Select message/).count()
    await page.goto(at('messages'))
    await page.getByLabel('Search held messages').fill('code:no_account')
    const cancelled = page.waitForEvent('requestfailed', request => request.url().endsWith('api/messages?q='))
    await page.keyboard.press('Enter')
    await page.getByText('Matching messages').waitFor()
    await cancelled
    first.resolve()
    assert.equal(await shown(), 0)
    second.resolve()
    await until('the matching message is shown', async () => (await shown()) > 0)
    await page.getByRole('button', { name: 'Clear' }).click()
    await until('all messages are shown again', async () => (await shown()) > hostile.length)
    await page.getByLabel('Search held messages').fill('code:no_account')
    await page.unroute(/api\/messages\?/)
    const third = Promise.withResolvers<void>()
    await page.route(/api\/messages\?/, async route => {
      await third.promise
      await route.continue()
    })
    await page.keyboard.press('Enter')
    await page.getByText('Matching messages').waitFor()
    assert.equal(await shown(), 0)
    third.resolve()
    await until('the matching message is shown again', async () => (await shown()) > 0)
  })

  it('show a viewer neither acts nor whole payloads, and nothing of other owners', async () => {
    const secret = 'a secret of the proxy, long enough'
    const port = await freePort()
    const limited = await incident.serve({
      port,
      auth: {
        kind: 'proxy',
        secret,
        origin: `http://127.0.0.1:${port}`,
        grants: [{ group: 'lookers', roles: ['viewer'], scope: { owners: ['billing'] } }],
      },
    })
    const { page, errors } = await openPage(browser, limited.url, {
      extraHTTPHeaders: {
        'x-onceward-proxy-secret': secret,
        'x-forwarded-user': 'vera',
        'x-forwarded-groups': 'lookers',
      },
    })
    await page.getByRole('article', { name: 'invoice_booking' }).waitFor()
    assert.equal(await page.getByText('payment_capture').count(), 0)
    await page.getByText('payloads masked').waitFor()
    await page.goto(`${limited.url}/messages?q=code:no_account`)
    await page.getByRole('link', { name: 'south-1' }).click()
    await page.getByRole('heading', { level: 1, name: 'south-1' }).waitFor()
    assert.equal(await page.getByRole('toolbar').count(), 0)
    const shown = await page.getByRole('region', { name: 'Payload', exact: true }).last().innerText()
    assert.ok(!shown.includes('EUR'), shown)
    await page.goto(`${limited.url}/consumers/payment_capture`)
    await page
      .getByRole('alert')
      .getByText(/payment_capture/)
      .waitFor()
    assert.deepEqual(errors, [])
  })

  it('keep the chosen theme over a reload, and open the menu of a narrow screen by keyboard', async () => {
    const view = { viewport: { width: 390, height: 844 }, colorScheme: 'light' as const }
    const { page } = await openPage(browser, served.linkFor('ann'), view)
    const background = () => page.evaluate('getComputedStyle(document.documentElement).backgroundColor')
    const light = await background()
    await page.getByRole('button', { name: 'Menu' }).focus()
    await page.keyboard.press('Enter')
    const theme = page.getByRole('button', { name: /^Theme/ })
    await theme.click()
    await theme.click()
    await page.getByRole('button', { name: 'Theme: dark' }).waitFor()
    assert.notEqual(await background(), light)
    await page.reload()
    await settled(page)
    assert.notEqual(await background(), light)
  })

  it('load with at most 120 kB compressed', async () => {
    const { page } = await openPage(browser, served.linkFor('ann'))
    const answers: Response[] = []
    page.on('response', response => {
      if (/assets|onceward\/$/.test(response.url())) answers.push(response)
    })
    await page.goto(at(''), { waitUntil: 'load' })
    await settled(page)
    const sizes = await Promise.all(
      [...answers].map(async response => gzipSync(await response.body()).length),
    )
    const bytes = sizes.reduce((sum, size) => sum + size, 0)
    assert.ok(bytes > 10_000, `${bytes} bytes`)
    assert.ok(bytes <= 120_000, `${bytes} bytes`)
  })
})

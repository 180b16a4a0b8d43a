import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createQueue, hint, publish, queueDepth } from 'onceward/postgres'
import { until } from 'onceward/testing'
import type { Browser, Page } from 'playwright-core'
import { queue } from '../../../examples/09-parking-drill/invoice-booking.ts'
import { startTcpProxy, type TcpProxy } from '../../onceward/test/proxy/tcp-proxy.ts'
import type { ServedConsole } from '../src/server/serve-console.ts'
import { openBrowser, openPage, skipWithoutBrowser } from './bench/browser.ts'
import { type Incident, openIncident } from './bench/incident.ts'

const invoices = 40
const away = 'The database does not answer. What you see may be old.'
const search = 'messages?q=consumer:invoice_booking+code:no_account'

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const dialog = (page: Page) => page.getByRole('dialog')
const confirm = (page: Page, verb: string) =>
  dialog(page).getByRole('button', { name: verb, exact: true }).click()

describe('failures in the browser', await skipWithoutBrowser(), () => {
  let incident: Incident
  let proxy: TcpProxy
  let served: ServedConsole
  let browser: Browser
  let ann: Page
  let bob: Page

  before(async () => {
    browser = await openBrowser()
    incident = await openIncident()
    await createQueue(incident.pool, queue)
    await publish(
      incident.pool,
      queue,
      Array.from({ length: invoices }, (_, n) => ({
        body: { messageId: `x-${n}`, accountId: `x-${n}`, currency: 'EUR', amount: 1 },
        key: `x-${n}`,
      })),
    )
    await hint(incident.pool, queue)
    await until('all are settled', async () => (await queueDepth(incident.pool, queue)).messages === 0)
    const { hostname, port } = new URL(incident.consoleUrl)
    proxy = await startTcpProxy({ host: hostname, port: Number(port) })
    served = await incident.serve({ auth: { kind: 'link' }, database: proxy.through(incident.consoleUrl) })
    ann = (await openPage(browser, served.linkFor('ann'))).page
    bob = (await openPage(browser, served.linkFor('bob'))).page
  })
  after(async () => {
    await browser?.close()
    await incident?.close()
    await proxy?.close()
  })

  const doneActs = async (action: string) => {
    const { rows } = await incident.pool.query(
      `select count(*)::int as n from onceward.audit where action = $1 and outcome = 'done'`,
      [action],
    )
    return rows[0].n as number
  }
  const select = async (page: Page, count: number) => {
    const boxes = page.getByLabel(/^Select message/)
    await boxes.first().waitFor()
    for (let n = 0; n < count; n++) await boxes.nth(n).check()
    await page.getByText(`${count} selected`).waitFor()
  }
  const begin = (page: Page, verb: string) =>
    page.getByRole('toolbar', { name: 'Acts on the selection' }).getByRole('button', { name: verb }).click()

  it('show a banner while the database is away, keep what was shown, and do the act once', async () => {
    await ann.goto(`${served.url}/${search}`)
    await select(ann, 1)
    await begin(ann, 'Skip…')
    await ann.getByText(/Exactly 1 message/).waitFor()
    await dialog(ann).getByLabel('Reason').fill('a test')
    const before = await doneActs('parked skip')
    proxy.refuse()
    proxy.cut()
    await ann.getByText(away).waitFor()
    await confirm(ann, 'Skip')
    await dialog(ann)
      .getByRole('alert')
      .getByText(/Repeat the request under the same key/)
      .waitFor()
    assert.ok((await ann.getByLabel(/^Select message/).count()) > 1, 'the rows stay')
    proxy.accept()
    await until('the banner goes', async () => (await ann.getByText(away).count()) === 0)
    await confirm(ann, 'Skip')
    await ann.getByText(/Skipped 1 message/).waitFor()
    assert.equal((await doneActs('parked skip')) - before, 1)
  })

  it('let one of two operators act on the same messages, and show the other why not', async () => {
    for (const page of [ann, bob]) {
      await page.goto(`${served.url}/${search}`)
      await select(page, 5)
      await begin(page, 'Skip…')
      await page.getByText(/Exactly 5 messages/).waitFor()
      await dialog(page).getByLabel('Reason').fill('both')
    }
    await confirm(ann, 'Skip')
    await ann.getByText(/Skipped 5 messages/).waitFor()
    await confirm(bob, 'Skip')
    const refusal = dialog(bob).getByRole('alert')
    await refusal.getByText(/do not exist|selection has changed/).waitFor()
    assert.match(await refusal.innerText(), /Nothing was changed/)
    await bob.keyboard.press('Escape')
    await until('the page of the other has the new rows', async () => {
      const { rows } = await incident.pool.query(
        `select id::text from onceward.held where code = 'no_account'`,
      )
      return (await bob.getByLabel(/^Select message/).count()) === rows.length
    })
  })

  it('find a redrive where the console was killed, and continue it in the next', async t => {
    const children: ChildProcess[] = []
    t.after(() => {
      for (const child of children) child.kill('SIGKILL')
    })
    const desk = async (port: string) => {
      const path = fileURLToPath(new URL('bench/desk-process.ts', import.meta.url))
      const child = spawn(process.execPath, [...process.execArgv, path, incident.consoleUrl, 'ann', port], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      children.push(child)
      const [line] = await once(child.stdout!, 'data')
      return { child, link: String(line).trim() }
    }
    const first = await desk('0')
    const { port } = new URL(first.link)
    const { page } = await openPage(browser, first.link)
    await incident.pool.query(
      `insert into account (id) select 'x-' || n from generate_series(0, ${invoices}) n union all select 'south'`,
    )
    await page.goto(`http://127.0.0.1:${port}/${search}`)
    await button(page, 'Redrive all…').click()
    await dialog(page).getByLabel('Reason').fill('accounts opened')
    await dialog(page).getByLabel('At most per second (optional)').fill('4')
    await dialog(page).getByRole('checkbox').uncheck()
    await page.getByText(/Exactly \d+ messages/).waitFor()
    await confirm(page, 'Redrive')
    const decided = page.getByText(/[1-9]\d* of \d+ decided/)
    await decided.waitFor()
    first.child.kill('SIGKILL')
    await page.getByText(/The console does not answer|Live figures are interrupted/).waitFor()
    assert.equal(await decided.count(), 1, 'the last state stays')

    const redrive = new URL(page.url()).pathname
    const second = await desk(port)
    await page.getByText(/Your session has ended/).waitFor()
    await page.goto(second.link)
    await page.reload()
    await page.goto(`http://127.0.0.1:${port}${redrive}`)
    await page.getByText('No process of this console moves it.', { exact: false }).waitFor()
    await incident.pool.query(`update onceward.redrive set rate_max = null where state = 'moving'`)
    await button(page, 'Continue…').click()
    await dialog(page).getByLabel('Reason').fill('the console died')
    await confirm(page, 'Continue')
    await page.getByText(/^(\d+) of \1 decided$/).waitFor()
    const { rows } = await incident.pool.query(
      `select count(*)::int as n, count(distinct invoice_id)::int as different from booking`,
    )
    assert.equal(rows[0].n, rows[0].different)
    const { rows: twice } = await incident.pool.query(
      'select held_id from onceward.redrive_row group by redrive_id, held_id having count(*) > 1',
    )
    assert.deepEqual(twice, [])
  })
})

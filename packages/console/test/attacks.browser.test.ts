import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { until } from 'onceward/testing'
import type { Browser } from 'playwright-core'
import type { ServedConsole } from '../src/server/serve-console.ts'
import { openBrowser, openPage, skipWithoutBrowser } from './bench/browser.ts'
import { freePort } from './bench/free-port.ts'
import { type Incident, openIncident } from './bench/incident.ts'

const name = 'onceward-session'

describe('attacks in the browser', await skipWithoutBrowser(), () => {
  let incident: Incident
  let served: ServedConsole
  let browser: Browser
  let evil: Server
  /** The page of the attacker. Its host is the console's, so the cookie of the person is sent. */
  let html = ''

  before(async () => {
    browser = await openBrowser()
    incident = await openIncident()
    served = await incident.serve({ auth: { kind: 'link' } })
    evil = createServer((_, response) => response.setHeader('content-type', 'text/html').end(html))
    await new Promise<void>(resolve => evil.listen(0, '127.0.0.1', resolve))
  })
  after(async () => {
    await browser?.close()
    evil?.closeAllConnections()
    evil?.close()
    await incident?.close()
  })
  const evilUrl = () => `http://127.0.0.1:${(evil.address() as AddressInfo).port}/`

  const heldCount = async () =>
    (await incident.pool.query('select count(*)::int as n from onceward.held')).rows[0].n as number

  it('an act that a page of another origin sends with the cookie is refused and audited', async () => {
    const { page } = await openPage(browser, served.linkFor('ann'))
    const { rows } = await incident.pool.query('select min(id)::text as id from onceward.held')
    const act = `${served.url}/api/messages/${rows[0].id}/note-fix`
    const before = await heldCount()
    html = `<form method="post" enctype="text/plain" action="${act}">
      <input name='{"consumer":"invoice_booking","because":"forged","x":"' value='"}'></form>
      <script>
        const body = '{"consumer":"invoice_booking","because":"forged"}'
        const sent = fetch('${act}', { method: 'POST', mode: 'no-cors', credentials: 'include', body })
        const out = fetch('${served.url}/api/sign-out', { method: 'POST', mode: 'no-cors', credentials: 'include' })
        const read = fetch('${served.url}/api/overview', { credentials: 'include' })
        Promise.allSettled([sent, out, read]).then(all => {
          window.readable = all[2].status
          document.forms[0].submit()
        })
      </script>`
    const forged = page.waitForResponse(
      response => response.request().isNavigationRequest() && response.url() === act,
    )
    await page.goto(evilUrl())
    const answer = await forged
    assert.equal(answer.status(), 403)
    assert.match(await answer.text(), /came from another site/)
    const { rows: audited } = await incident.pool.query(
      `select outcome, reason from onceward.audit where action = 'console: parked fix'`,
    )
    assert.equal(audited.length, 2)
    for (const { outcome, reason } of audited) {
      assert.equal(outcome, 'refused')
      assert.match(reason, /came from another site/)
    }
    assert.equal(await heldCount(), before)
    await page.goto(served.url)
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
  })

  it('another origin can neither read the console nor frame it', async () => {
    const { page } = await openPage(browser, served.linkFor('ann'))
    html = `<iframe src="${served.url}/"></iframe><script>
      fetch('${served.url}/api/overview', { credentials: 'include' })
        .then(answer => answer.text()).then(text => { window.got = text }, () => { window.got = 'nothing' })
      </script>`
    await page.goto(evilUrl())
    await page.waitForFunction('window.got !== undefined')
    assert.equal(await page.evaluate('window.got'), 'nothing')
    const frame = page.frames().find(one => one !== page.mainFrame())!
    await until('the frame is refused', async () => frame.url().startsWith('chrome-error:'))
  })

  it('a session that was planted before the sign-in is not the session after it', async () => {
    const context = await browser.newContext()
    await context.addCookies([{ name, value: 'planted'.padEnd(43, 'x'), url: served.url }])
    const page = await context.newPage()
    await page.goto(served.linkFor('ann'))
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    const cookie = (await context.cookies()).find(one => one.name === name)!
    assert.notEqual(cookie.value, 'planted'.padEnd(43, 'x'))
    assert.deepEqual([cookie.httpOnly, cookie.sameSite], [true, 'Lax'])
    assert.equal(await page.evaluate('document.cookie'), '')

    const attacker = await browser.newContext()
    await attacker.addCookies([{ name, value: 'planted'.padEnd(43, 'x'), url: served.url }])
    const other = await attacker.newPage()
    await other.goto(served.url)
    await other
      .getByText(/sign in/i)
      .first()
      .waitFor()
    assert.equal(await other.getByRole('navigation', { name: 'Sections' }).count(), 0)
    await Promise.all([context.close(), attacker.close()])
  })

  it('headers of a proxy without its secret, or with a wrong one, do not sign a person in', async () => {
    const port = await freePort()
    const origin = `http://127.0.0.1:${port}`
    const secret = 'a secret of the proxy, long enough'
    const behind = await incident.serve({
      port,
      auth: { kind: 'proxy', secret, origin, grants: [{ group: 'admins', roles: ['admin'] }] },
    })
    const person = { 'x-forwarded-user': 'ann', 'x-forwarded-groups': 'admins' }
    const see = async (headers: Record<string, string>) => {
      const context = await browser.newContext({ extraHTTPHeaders: headers })
      const page = await context.newPage()
      await page.goto(behind.url)
      const signedIn = page.getByRole('navigation', { name: 'Sections' })
      await signedIn.or(page.locator('.sign-in')).first().waitFor()
      const isIn = (await signedIn.count()) > 0
      await context.close()
      return isIn
    }
    assert.equal(await see({ ...person, 'x-onceward-proxy-secret': secret }), true)
    assert.equal(await see(person), false)
    assert.equal(await see({ ...person, 'x-onceward-proxy-secret': `${secret}.` }), false)
  })
})

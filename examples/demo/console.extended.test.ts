import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { openBrowser, openPage, skipWithoutBrowser } from '../../packages/console/test/bench/browser.ts'

const main = fileURLToPath(new URL('./main.ts', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'onceward-demo-console-'))
// mkdtemp makes it 0700, and then the server of a root user would keep its data elsewhere.
chmodSync(folder, 0o755)
after(() => rmSync(folder, { recursive: true, force: true }))

describe('the demo with the console', await skipWithoutBrowser(), () => {
  it('shows duplicates, kills and the verdict on the overview, and ends with Ctrl-C', async () => {
    const browser = await openBrowser()
    const flags = ['--conditions=@onceward/source', '--disable-warning=ExperimentalWarning']
    const demo = spawn(
      process.execPath,
      [...flags, main, '--console', '--messages', '1200', '--seed', '46'],
      {
        env: { ...process.env, TMPDIR: folder },
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    )
    const exited = once(demo, 'exit')
    try {
      const { page, errors } = await openPage(browser, await linkOf(demo.stdout))
      const card = page.getByRole('region', { name: /The demo runs|Verdict/ })
      await card.getByText('duplicates skipped').waitFor()
      await page.getByRole('article', { name: 'payment_capture' }).waitFor()
      await page
        .getByRole('region', { name: 'Verdict: nothing lost, nothing twice' })
        .waitFor({ timeout: 180_000 })
      await card.getByText('every process was killed at least 2 times').waitFor()
      assert.equal(await card.getByText('fails', { exact: true }).count(), 0)
      assert.deepEqual(errors, [])
    } finally {
      demo.kill('SIGINT')
      await exited
      await browser.close()
    }
    assert.equal(demo.exitCode, 0)
    assert.deepEqual(readdirSync(folder), [])
  })
})

/** The line with the link; the rest is read, so that the demo does not wait. */
function linkOf(output: NodeJS.ReadableStream): Promise<string> {
  return new Promise((resolve, reject) => {
    const lines = createInterface(output)
    lines.on('line', line => /#link=/.test(line) && resolve(line.trim()))
    lines.on('close', () => reject(new Error('The demo ended before it printed its link.')))
  })
}

import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { until } from '../packages/onceward/src/testing/until.ts'
import { runChaos } from './run-command-line.ts'
import { testShortForm } from './short-form.ts'

describe('npm run chaos, the short form', () => {
  testShortForm('postgres')
  testShortForm('quorum')

  test('SIGINT ends the run and everything it started', async t => {
    const folder = mkdtempSync(join(tmpdir(), 'chaos-ends-'))
    t.after(() => rmSync(folder, { recursive: true, force: true }))
    chmodSync(folder, 0o755)
    const run = runChaos(['--short', '--cells', 'postgres/direct', '--minutes', '0.1'], { TMPDIR: folder })
    await until('the consumers run', () => run.said().includes('running'))
    assert.ok(processesWith(folder).length >= 8, 'processes and servers are found by their folder')
    run.stop('SIGINT')
    assert.equal(await run.ended, 1)
    await until('nothing is left', () => processesWith(folder).length === 0)
  })
})

/** Processes whose environment or command line names the folder: the run, its children, its servers. */
function processesWith(folder: string): string[] {
  return readdirSync('/proc').filter(pid => {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return false
    try {
      const texts = ['environ', 'cmdline'].map(file => readFileSync(`/proc/${pid}/${file}`, 'utf8'))
      return texts.some(text => text.includes(folder))
    } catch {
      return false
    }
  })
}

import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Outcome } from './outcome.ts'
import { runFile } from './run-file.ts'

const run = async (t: TestContext, ...lines: string[]) => {
  const folder = await mkdtemp(join(tmpdir(), 'onceward-run-file-'))
  t.after(() => rm(folder, { recursive: true }))
  const file = join(folder, 'some.test.mjs')
  await writeFile(file, ["import { test } from 'node:test'", "test('early', () => {})", ...lines].join('\n'))
  const outcome = new Outcome()
  await runFile(outcome, file, { root: folder, env: process.env, timeoutMs: 60_000 })
  return {
    passed: outcome.passed.map(({ name }) => name),
    failed: outcome.failed.map(({ name }) => name),
  }
}
const later = 'await new Promise(resolve => setTimeout(resolve, 200))'

test('tests that a file defines late are run too', async t => {
  assert.deepEqual(await run(t, later, "test('late', () => {})"), { passed: ['early', 'late'], failed: [] })
})

test('a socket left open keeps no file from ending', async t => {
  const open = ["import { createServer } from 'node:net'", 'createServer().listen(0)']
  assert.deepEqual(await run(t, ...open), { passed: ['early'], failed: [] })
})

test('a file that cannot be loaded has failed, even if others passed before', async t => {
  assert.deepEqual(await run(t, later, "throw new Error('broken')"), {
    passed: ['early'],
    failed: ['(the file loads)'],
  })
})

test('no event is lost of very many, however slow the reader', async t => {
  const many = "for (let n = 0; n < 3_000; n++) test('x'.repeat(200) + n, () => {})"
  // A runner that has other things to do.
  const still = new Int32Array(new SharedArrayBuffer(4))
  const busy = setInterval(() => Atomics.wait(still, 0, 0, 200), 1)
  t.after(() => clearInterval(busy))
  const { passed } = await run(t, many)
  assert.equal(passed.length, 3_001)
})

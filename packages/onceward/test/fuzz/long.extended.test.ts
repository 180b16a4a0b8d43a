import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { runFuzz } from './run-fuzz.ts'
import { targetNames } from './targets/index.ts'

const minutes = 5
const inputs = 100_000

test(`${minutes} minutes of varied inputs for every target, from seeds of their own`, async t => {
  const folder = mkdtempSync(join(tmpdir(), 'onceward-fuzz-'))
  const end = performance.now() + minutes * 60_000
  let total = 0
  let seed = randomInt(1_000, 2 ** 30)
  t.diagnostic(`from seed ${seed}`)
  while (performance.now() < end) {
    const report = await runFuzz(targetNames, { inputs, seed: seed++, folder })
    total += report.inputs
    // The folder of a finding stays: the message names the file.
    assert.deepEqual(report.findings, [])
  }
  assert.ok(total >= inputs, `${total} inputs`)
  rmSync(folder, { recursive: true, force: true })
})

import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { findings } from './findings.ts'
import { runFuzz } from './run-fuzz.ts'
import { findTarget, targetNames } from './targets/index.ts'

const folder = mkdtempSync(join(tmpdir(), 'onceward-fuzz-'))
after(() => rmSync(folder, { recursive: true, force: true }))

describe('hostile input', () => {
  test('100,000 varied inputs are read, or refused as documented', async () => {
    const report = await runFuzz(targetNames, { inputs: 100_000, seed: 1, folder })
    assert.deepEqual(report.findings, [])
    assert.ok(report.inputs >= 100_000, `${report.inputs} inputs`)
  })

  for (const { target, what, input } of findings)
    test(`found once: ${what}`, async () => {
      await (await findTarget(target)).check(Buffer.from(input, 'hex'))
    })
})

describe('the fuzzer', () => {
  test('finds a deep branch by coverage, shrinks its input, and writes a file that repeats it', async () => {
    const report = await runFuzz(['test: deep branch'], { inputs: 60_000, seed: 1, folder })
    assert.deepEqual(
      report.findings.map(({ kind }) => kind),
      ['crash'],
    )
    assert.equal(readFileSync(report.findings[0]!.file, 'utf8'), 'find')
  })

  test('ends a thread that hangs or fills its memory, and keeps the input', async () => {
    for (const [target, kind] of [
      ['test: hang', 'hang'],
      ['test: memory', 'crash'],
    ] as const) {
      const { findings: found } = await runFuzz([target], {
        inputs: 100,
        seed: 1,
        folder,
        hangMs: 1_000,
        heapMiB: 64,
      })
      assert.deepEqual(
        found.map(one => one.kind),
        [kind],
      )
    }
    assert.ok(readdirSync(folder).length >= 3)
  })
})

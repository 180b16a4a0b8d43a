import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { join } from 'node:path'

const tests = join(import.meta.dirname, '..')

/**
 * Runs a test file in a process of its own, on the servers that these variables name. Fails with what it
 * printed. Resolves with the number of tests that passed.
 */
export async function runElsewhere(file: string, servers: Readonly<Record<string, string>>): Promise<number> {
  const { NODE_TEST_CONTEXT: _, ONCEWARD_UNAVAILABLE: __, ...outside } = process.env
  const flags = [
    '--conditions=@onceward/source',
    '--disable-warning=ExperimentalWarning',
    '--test-force-exit',
  ]
  const child = spawn(process.execPath, [...flags, '--test-reporter=spec', join(tests, file)], {
    env: { ...outside, ...servers },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', chunk => {
      output = (output + chunk).slice(-20_000)
    })
  const code = await new Promise<number | null>(resolve => child.once('close', resolve))
  assert.equal(code, 0, `${file}:\n${output}`)
  const passed = Number(/^ℹ pass (\d+)$/m.exec(output)?.[1])
  assert.ok(passed > 0, `${file} ran no test:\n${output}`)
  return passed
}

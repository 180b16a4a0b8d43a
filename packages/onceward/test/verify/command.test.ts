import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { postgresUrl, skipWithout } from '../services/services.ts'

const main = join(import.meta.dirname, '../../src/cli/main.ts')
const consumer = join(import.meta.dirname, 'gallery/read-modify-write.ts')
const folder = mkdtempSync(join(tmpdir(), 'onceward-verify-test-'))

function verify(args: readonly string[], env: Record<string, string> = {}) {
  const { NODE_TEST_CONTEXT: _, ...outside } = process.env
  const child = spawn(process.execPath, ['--conditions=@onceward/source', main, 'verify', ...args], {
    cwd: folder,
    env: { ...outside, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const said = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    child[name].on('data', chunk => {
      said[name] += chunk
    })
  return new Promise<{ code: number | null; stdout: string; stderr: string }>(resolve =>
    child.once('close', code => resolve({ code, ...said })),
  )
}

describe('onceward verify', await skipWithout('postgres'), () => {
  after(() => rmSync(folder, { recursive: true, force: true }))

  it('prints one JSON line with the failure shrunk, and writes JUnit and HTML', async () => {
    const samples = join(folder, 'samples.jsonl')
    const schema = join(folder, 'tables.sql')
    const line = (n: number) => JSON.stringify({ id: `p-${n}`, account: 'a', amount: n, version: n })
    writeFileSync(samples, `${[1, 2, 3].map(line).join('\n')}\n`)
    writeFileSync(
      schema,
      `\\restrict x
      create table balance (account text primary key, total bigint not null);
      insert into balance values ('a', 0);`,
    )
    const [junit, html] = ['out.xml', 'out.html'].map(name => join(folder, name)) as [string, string]
    const server = await postgresUrl()
    const { code, stdout, stderr } = await verify(
      [
        ...[consumer, '--samples', samples, '--schema', schema, '--only', 'batch', '--budget', '10m'],
        ...[
          '--invariant',
          'select * from balance where total < 0',
          '--json',
          '--junit',
          junit,
          '--html',
          html,
        ],
      ],
      { ONCEWARD_VERIFY_DATABASE_URL: server },
    )
    assert.equal(code, 1, stderr)
    const report = JSON.parse(stdout.trim().split('\n').at(-1)!)
    assert.deepEqual(Object.keys(report), ['ok', 'survived', 'of', 'failures'])
    assert.equal(report.ok, false)
    const [failure] = report.failures
    assert.match(failure.what, /without a lock/)
    // Shrunk to the fewest messages that interfere, with the rows side by side and a command that repeats it.
    assert.equal(failure.lines.length, 2)
    assert.equal(failure.differences[0].where, 'balance')
    assert.match(failure.repeat, /--seed 1 --fault batch --lines \d,\d$/)
    assert.match(readFileSync(junit, 'utf8'), /<failure message="Let the database decide/)
    assert.match(readFileSync(html, 'utf8'), /<td class="dim">clean run<\/td>.*<mark>\d+<\/mark>/)
    assert.match(stderr, /1 of 1 faults, 1 failed, about \d+ s left/)
  })

  it('is not green when no fault ran, and says what budget would do', async () => {
    const samples = join(folder, 'one.jsonl')
    writeFileSync(samples, `${JSON.stringify({ id: 'p-1', account: 'a', amount: 1, version: 1 })}\n`)
    const { code, stdout, stderr } = await verify([consumer, '--samples', samples, '--budget', '1ms'], {
      ONCEWARD_VERIFY_DATABASE_URL: await postgresUrl(),
    })
    assert.equal(code, 1, stderr)
    assert.match(stdout, /FAILED The budget ended before the clean runs did, so no fault was staged\./)
    assert.match(stdout, /fix +--budget \d+s should suffice/)
    assert.match(stdout, /repeat +onceward verify .*one\.jsonl --seed 1 --budget \d+s/)
    assert.match(stdout, /read_write is not proven: /)
  })

  it('refuses wrong use before anything runs', async () => {
    for (const [args, says] of [
      [[consumer, '--fault', 'kill:3'], /"kill:3" is not a fault/],
      [[consumer, '--only', 'everything'], /"everything" is not a class of faults/],
      [[consumer, '--budget', 'soon'], /--budget soon is not a time/],
    ] as const) {
      const { code, stderr } = await verify(args)
      assert.equal(code, 2, stderr)
      assert.match(stderr, says)
    }
  })

  it('refuses a server of a named environment', async () => {
    const env = { ONCEWARD_VERIFY_DATABASE_URL: await postgresUrl(), ONCEWARD_ENVIRONMENT: 'production' }
    const { code, stderr } = await verify([consumer], env)
    assert.equal(code, 1)
    assert.match(stderr, /belongs to the environment "production".*Nothing was created/)
  })
})

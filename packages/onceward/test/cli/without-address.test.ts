import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { until } from 'onceward/testing'
import { projectFiles } from '../../src/cli/init/project.ts'
import { writeProject } from '../../src/cli/init/write-project.ts'
import { createProgram } from '../../src/cli/program.ts'
import { startEmbeddedPostgres } from '../../src/runtime/embedded/index.ts'
import { asksDatabase, leaves, wordsOf } from './leaves.ts'

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
const source = new URL('../../src/', import.meta.url).href

describe('without an address of a database', () => {
  let folder: string
  const dataDir = () => join(folder, '.onceward', 'postgres')

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'onceward-address-'))
    // The server of root is another user's.
    chmodSync(folder, 0o755)
    writeFileSync(
      join(folder, 'work.ts'),
      `import { defineConsumer } from '${source}index.ts'
import { postgresQueue } from '${source}postgres.ts'
export default defineConsumer<{ id: string }>({ name: 'work', owner: 'tests', risk: 'money', source: postgresQueue('work'),
  identity: { id: m => m.id }, retention: { markers: '30d', sourceKeeps: '7d' }, async handle() {} })`,
    )
  })
  beforeEach(() => rmSync(join(folder, '.onceward', 'embedded'), { force: true }))
  after(async () => {
    if (existsSync(dataDir())) await (await startEmbeddedPostgres({ dataDir: dataDir() })).stop()
    rmSync(folder, { recursive: true, force: true })
  })

  const start = (args: string[], env: Record<string, string> = {}, cwd = folder) => {
    const { ONCEWARD_DATABASE_URL: _, ONCEWARD_DATABASE_URL_FILE: __, ...outside } = process.env
    const child = spawn(process.execPath, ['--conditions=@onceward/source', main, ...args], {
      cwd,
      env: { ...outside, ONCEWARD_METRICS_PORT: 'off', ...env },
    })
    const output = { stdout: '', stderr: '' }
    child.stdout.on('data', chunk => {
      output.stdout += chunk
    })
    child.stderr.on('data', chunk => {
      output.stderr += chunk
    })
    const ended = new Promise<{ code: number | null; stdout: string; stderr: string }>(resolve =>
      child.once('close', code => resolve({ code, ...output })),
    )
    return { child, output, ended }
  }
  const onceward = (args: string[], env?: Record<string, string>) => start(args, env).ended

  test('a command says that no database was queried, fails, and starts no server', async () => {
    const { code, stdout, stderr } = await onceward(['status', '--json'])
    assert.equal(code, 1, `${stdout}${stderr}`)
    const said = JSON.parse(stdout)
    assert.equal(said.code, 'configuration')
    assert.match(said.error, /ONCEWARD_DATABASE_URL is not set.*No database was queried/)
    assert.equal(existsSync(join(folder, '.onceward')), false)
  })

  test('so does every command that asks a database', async t => {
    const environment = { ...process.env }
    const cwd = process.cwd()
    t.after(() => {
      process.env = environment
      process.chdir(cwd)
    })
    delete process.env.ONCEWARD_DATABASE_URL
    delete process.env.ONCEWARD_DATABASE_URL_FILE
    process.chdir(folder)
    // Verify has a server of its own, which only it uses, and never waits for another.
    const all = leaves(await createProgram()).filter(leaf => asksDatabase(leaf) && leaf.name !== 'verify')
    assert.ok(all.length > 50, `${all.length} commands`)
    for (const leaf of all) {
      const words = wordsOf(leaf, join(folder, 'work.ts'), 'work')
      const says = /ONCEWARD_DATABASE_URL is not set.*(No database was queried|Nothing was started)/
      await assert.rejects(
        (await createProgram()).parseAsync(words, { from: 'user' }),
        (error: Error & { code?: string }) => error.code === 'configuration' && says.test(error.message),
        `onceward ${words.join(' ')}`,
      )
    }
    assert.equal(existsSync(join(folder, '.onceward')), false)
  })

  test('run and relay are refused: they would settle messages into a temporary database', async () => {
    for (const args of [
      ['run', 'work.ts'],
      ['relay', '--broker', 'postgres'],
    ]) {
      const { code, stderr } = await onceward(args)
      assert.equal(code, 1, stderr)
      assert.match(stderr, /ONCEWARD_DATABASE_URL is not set. Nothing was started.*--embedded/)
    }
    assert.equal(existsSync(join(folder, '.onceward')), false)
    const both = await onceward(['run', 'work.ts', '--embedded'], {
      ONCEWARD_DATABASE_URL: 'postgres://x@y/z',
    })
    assert.deepEqual(
      [both.code, /and --embedded name two databases/.test(both.stderr)],
      [2, true],
      both.stderr,
    )
  })

  test('run --embedded starts one, commands of the folder attach to it, and it ends with the consumer', {
    timeout: 120_000,
  }, async () => {
    const running = start(['run', 'work.ts', '--embedded'])
    await until('it runs', () => /consumer running/.test(running.output.stderr))
    const status = await onceward(['status', '--json'])
    assert.equal(status.code, 0, status.stderr)
    assert.deepEqual(
      JSON.parse(status.stdout).consumers.map((one: { name: string }) => one.name),
      ['work'],
    )
    assert.equal(running.child.exitCode, null, 'the server was not stopped under the consumer')
    running.child.kill('SIGTERM')
    assert.equal((await running.ended).code, 0)
    const afterwards = await onceward(['status'])
    assert.equal(afterwards.code, 1)
    assert.match(afterwards.stderr, /No database was queried/)
  })

  test('a folder that init has marked may run without it; a copy by git or Docker may not', {
    timeout: 120_000,
  }, async () => {
    const files = projectFiles({ name: 'parcels', owner: 'x', risk: 'money', source: 'postgres' }, '1.0.0')
    for (const list of ['.gitignore', '.dockerignore']) assert.match(files[list]!, /^\.onceward\/$/m)
    const { '.onceward/embedded': mark } = files
    await writeProject(folder, { '.onceward/embedded': mark! })
    const running = start(['run', 'work.ts', '--json'], { ONCEWARD_METRICS_PORT: '0' })
    const page = () => /"url":"(http:[^"]+)"/.exec(running.output.stderr)?.[1]
    await until('it has started', async () => {
      const url = page()
      return url !== undefined && (await fetch(`${url}/readyz`)).status === 200
    })
    running.child.kill('SIGTERM')
    assert.equal((await running.ended).code, 0)
  })
})

import assert from 'node:assert/strict'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createPool, migrate } from 'onceward/postgres'
import { createProgram } from '../../src/cli/program.ts'
import { openReplay, runConsumer } from '../../src/index.ts'
import { runRelay } from '../../src/outbox.ts'
import { createEmptyDatabase, skipWithout } from '../services/services.ts'
import { asksDatabase, leaves, wordsOf } from './leaves.ts'

const source = new URL('../../src/', import.meta.url)

describe('a process of another environment', await skipWithout('postgres'), () => {
  let folder: string
  let file: string
  let database: Awaited<ReturnType<typeof createEmptyDatabase>>
  let pool: ReturnType<typeof createPool>
  const environment = { ...process.env }

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'onceward-environment-'))
    file = join(folder, 'guarded.ts')
    writeFileSync(
      file,
      `import { defineConsumer } from '${source.href}index.ts'
import { postgresQueue } from '${source.href}postgres.ts'
export default defineConsumer<{ id: string }>({ name: 'guarded', owner: 'tests', risk: 'money',
  source: postgresQueue('guarded'), identity: { id: m => m.id }, retention: { markers: '30d', sourceKeeps: '7d' },
  async handle() {} })`,
    )
    database = await createEmptyDatabase()
    pool = createPool(database.url, { max: 1 })
    await migrate(pool, { environment: 'production' })
    process.env.ONCEWARD_DATABASE_URL = database.url
    process.env.ONCEWARD_ENVIRONMENT = 'staging'
  })
  after(async () => {
    process.env = environment
    await pool.end()
    await database.drop()
    rmSync(folder, { recursive: true, force: true })
  })

  /** Every row of every table of the schema, and every relation there is. */
  const contents = async () => {
    const { rows } = await pool.query(
      `select c.oid::regclass::text as name from pg_class c where relnamespace = 'onceward'::regnamespace and relkind in ('r', 'p') order by 1`,
    )
    const found: Record<string, string> = {}
    for (const { name } of rows) {
      const { rows: all } = await pool.query(
        `select coalesce(string_agg(t::text, e'\\n' order by t::text), '') as text from ${name} t`,
      )
      found[name] = all[0].text
    }
    return found
  }

  test('is refused by every command that asks a database, and nothing is changed', {
    timeout: 120_000,
  }, async () => {
    const all = leaves(await createProgram()).filter(asksDatabase)
    assert.ok(all.length > 50, `${all.length} commands`)
    const was = await contents()
    for (const leaf of all) {
      const program = await createProgram()
      await assert.rejects(
        program.parseAsync(wordsOf(leaf, file), { from: 'user' }),
        { code: 'wrong_environment' },
        `onceward ${wordsOf(leaf, file).join(' ')}`,
      )
    }
    assert.deepEqual(await contents(), was)
  })

  test('gets a finding from check, which only reads', async t => {
    let printed = ''
    t.mock.method(process.stdout, 'write', (text: string) => {
      printed += text
      return true
    })
    const exitCode = process.exitCode
    const program = await createProgram()
    await program.parseAsync(['check', '--live', '--json', file], { from: 'user' })
    t.mock.restoreAll()
    assert.equal(process.exitCode, 1)
    process.exitCode = exitCode
    assert.match(printed, /belongs to .{0,3}production/)
  })

  test('is refused by the functions that take an environment', async () => {
    const { default: consumer } = await import(file)
    const options = { databaseUrl: database.url, environment: 'staging' }
    await assert.rejects(runConsumer(consumer, options), { code: 'wrong_environment' })
    await assert.rejects(runRelay({ ...options, brokers: ['postgres'] }), { code: 'wrong_environment' })
    await assert.rejects(openReplay(consumer, options), { code: 'wrong_environment' })
    await assert.rejects(migrate(pool, options), { code: 'wrong_environment' })
  })

  test('a variable that is set but empty is refused, and the right name is accepted', async t => {
    t.after(() => {
      process.env.ONCEWARD_ENVIRONMENT = 'staging'
    })
    const run = async () => (await createProgram()).parseAsync(['status', '--json'], { from: 'user' })
    process.env.ONCEWARD_ENVIRONMENT = ''
    await assert.rejects(run(), /ONCEWARD_ENVIRONMENT is set but empty/)
    process.env.ONCEWARD_ENVIRONMENT = 'production'
    await run()
  })

  test('no command creates a pool without the guard', () => {
    const cli = fileURLToPath(new URL('cli/', source))
    // The texts that "onceward init" writes are programs of their own.
    const files = globSync('**/*.ts', { cwd: cli }).filter(path => !/^init\/.*-text\.ts$/.test(path))
    const makers = files.filter(path => /createPool\(/.test(readFileSync(join(cli, path), 'utf8')))
    assert.deepEqual(makers, [])
  })
})

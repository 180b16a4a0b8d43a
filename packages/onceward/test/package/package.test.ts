import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
import { createPool } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { createDatabase, skipWithout } from '../services/services.ts'
import { serveInstalled } from './installed-console.ts'
import { build, compile, emptyProject, install, type Packed, pack, root, run } from './pack.ts'

describe('the published package', async () => {
  let packed: Packed
  let desk: Packed
  let folder: string
  before(async () => {
    await build()
    packed = await pack('onceward')
    desk = await pack('console')
    folder = await emptyProject(packed.tarball)
  })
  after(() => {
    rmSync(folder, { recursive: true, force: true })
    packed.remove()
    desk.remove()
  })

  test('contains what users need, in 1.5 MB', () => {
    const foreign = /^(src|test|examples|scripts)\/|\.test\.|^dist\/demo\/|migrations\/0.*\.d\.ts$/
    assert.deepEqual(
      packed.paths.filter(path => foreign.test(path)),
      [],
    )
    assert.ok(packed.size <= 1_500_000, `${packed.size} bytes`)
  })

  test('has a source map beside each file with code, for lines of the sources', () => {
    const maps = packed.paths.filter(path => path.endsWith('.js.map'))
    const { sources } = JSON.parse(
      readFileSync(join(folder, 'node_modules/onceward/dist/cli/main.js.map'), 'utf8'),
    )
    assert.ok(maps.length > 100, `${maps.length} maps`)
    assert.ok(
      sources.every((source: string) => /^(\.\.\/)+src\//.test(source)),
      String(sources),
    )
  })

  test('names the line of the sources in stack traces', async () => {
    const program = `import('onceward').then(({ defineConsumer }) => defineConsumer({}))
      .catch(error => console.log(error.stack))`
    const traced = ['--enable-source-maps', '--eval', program]
    const { stdout } = await run(process.execPath, traced, { cwd: folder })
    const [, file = '', line] = /at defineConsumer \(.*\/(src\/\S+\.ts):(\d+):/.exec(stdout) ?? []
    assert.equal(file, 'src/contract/define-consumer.ts', stdout)
    const source = readFileSync(join(root, 'packages', 'onceward', file), 'utf8')
    assert.match(source.split('\n')[Number(line) - 1] ?? '', /throw new OncewardError/)
  })

  test('is accepted by publint and arethetypeswrong', { timeout: 280_000 }, async () => {
    // The resolution of Node 10 knows no `exports`: profile `node16` of the tool leaves it out too.
    const problems = await problemsOf(packed.tarball)
    assert.deepEqual(
      problems.filter(problem => !/ node10$/.test(problem)),
      [],
    )
  })

  test('of the console has its server, its pages and their licence', { timeout: 280_000 }, async () => {
    const foreign = /^(src|test)\/|\.test\.|\.tsx?$/
    const strange = desk.paths.filter(path => foreign.test(path.replace(/\.d\.ts$/, '')))
    assert.deepEqual(strange, [])
    for (const path of ['LICENSE', 'README.md', 'dist/server/main.js', 'dist/web/index.html'])
      assert.ok(desk.paths.includes(path), path)
    assert.ok(desk.size <= 500_000, `${desk.size} bytes`)
    // It is a module: `require` of it works in every Node that it supports.
    const problems = await problemsOf(desk.tarball)
    assert.deepEqual(
      problems.filter(problem => !/ node10$|^CJSResolvesToESM /.test(problem)),
      [],
    )
  })

  test('is the same library for require, which says so where Node is too old', async () => {
    const program = `const { OncewardError } = require('onceward'); const memory = require('onceward/memory')
      import('onceward').then(own => console.log(own.OncewardError === OncewardError, typeof memory.MemoryQueue))`
    const both = await run(process.execPath, ['--eval', program], { cwd: folder })
    assert.equal(both.stdout.trim(), 'true function')
    const old = "Object.defineProperty(process.versions, 'node', { value: '20.20.2' })"
    for (const load of ["require('onceward/kafka')", "import('onceward')"]) {
      const failed = await run(process.execPath, ['--eval', `${old}; ${load}`], { cwd: folder }).then(
        () => '',
        error => String(error.stderr),
      )
      assert.match(failed, /onceward needs Node 22\.19 or newer, and this is Node 20\.20\.2\./)
    }
  })

  test('loads few modules for its first door: the engine and the drivers come on use', async () => {
    const program = `const { registerHooks } = require('node:module')
      let own = 0, others = new Set()
      registerHooks({ load(url, context, next) {
        const [, name] = /node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url) ?? []
        if (name === 'onceward') own++
        else if (name !== undefined) others.add(name)
        return next(url, context)
      } })
      import('onceward').then(() => console.log(JSON.stringify({ own, others: [...others] })))`
    const { stdout } = await run(process.execPath, ['--eval', program], { cwd: folder })
    const { own, others } = JSON.parse(stdout)
    assert.ok(own > 5 && own <= 60, `${own} files of ours`)
    assert.deepEqual(others, ['@opentelemetry/api'])
  })

  describe('in an empty project', await skipWithout('postgres'), () => {
    test("type-checks and runs the README's consumer", { timeout: 280_000 }, async () => {
      await install(folder, ['amqplib@2.3.1'])
      writeReadmeFiles(folder)
      await checkTypes(folder)
      await runReadme(folder)
      await checkOrmDoors(folder)
    })

    test('serves the console by "npx @onceward/console"', { timeout: 280_000 }, async () => {
      await install(folder, [desk.tarball])
      await serveInstalled(folder)
    })
  })
})

/** What publint and arethetypeswrong have against a tarball. */
async function problemsOf(tarball: string): Promise<string[]> {
  const bytes = readFileSync(tarball)
  const data = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer
  const { messages, pkg } = await publint({ pack: { tarball: data }, strict: true })
  const checked = await checkPackage(createPackageFromTarballData(new Uint8Array(data)))
  assert.notEqual(checked.types, false, 'it has types')
  const problems = checked.types === false ? [] : checked.problems
  return [
    ...messages.map(message => `${formatMessage(message, pkg)}`),
    ...problems.map(
      problem => `${problem.kind} ${'resolutionKind' in problem ? problem.resolutionKind : ''}`,
    ),
  ]
}

async function runReadme(folder: string): Promise<void> {
  await using cleanup = new AsyncDisposableStack()
  const database = await createDatabase()
  cleanup.defer(() => database.drop())
  const env = { ...process.env, ONCEWARD_DATABASE_URL: database.url, NODE_OPTIONS: '' }
  const cli = join(folder, 'node_modules', '.bin', 'onceward')
  const migrated = await run(cli, ['migrate', '--json'], { cwd: folder, env })
  assert.equal(JSON.parse(migrated.stdout).ok, true)
  await run(process.execPath, ['send.mts'], { cwd: folder, env })
  const consumer = spawn(cli, ['run', 'payment-capture.mts', '--json'], { cwd: folder, env })
  cleanup.defer(() => void consumer.kill('SIGKILL'))
  let stdout = ''
  consumer.stdout.on('data', chunk => {
    stdout += chunk
  })
  const pool = createPool(database.url, { max: 1 })
  cleanup.defer(() => pool.end())
  await until('the queue is empty', async () => {
    const { rows } = await pool.query('select count(*)::int from onceward.queue_message')
    return rows[0].count === 0
  })
  const ended = new Promise(resolve => consumer.once('close', resolve))
  consumer.kill('SIGTERM')
  assert.equal(await ended, 0)
  assert.deepEqual(JSON.parse(stdout.trim().split('\n').at(-1)!).outcomes, { applied: 1, duplicate: 2 })
  assert.deepEqual((await pool.query('select * from capture')).rows, [{ id: 'cap-1', amount: 4200 }])
  const status = await run(cli, ['status', '--json'], { cwd: folder, env })
  assert.equal(JSON.parse(status.stdout).consumers[0].name, 'payment_capture')
}

/** Last, so that everything before has run without the libraries. Their own types are theirs to check. */
async function checkOrmDoors(folder: string): Promise<void> {
  // Not the versions of this repository: a range is what the package asks for.
  const libraries = ['kysely@0.29.8', 'drizzle-orm@0.45.4', 'knex@3.3.0', '@platformatic/kafka@2.12.0']
  await install(folder, libraries)
  writeFileSync(
    join(folder, 'orm-doors.mts'),
    `import createKnex, { type Knex } from 'knex'
import type { Transaction } from 'kysely'
import type { Store } from 'onceward'
import { createDrizzleStore } from 'onceward/drizzle'
import { createKnexStore } from 'onceward/knex'
import { topic } from 'onceward/kafka'
import { createKyselyStore } from 'onceward/kysely'
const store: Store<Knex.Transaction> = createKnexStore(createKnex({ client: 'pg' }))
// @ts-expect-error a store of Knex is none of Kysely
const other: Store<Transaction<{ t: { id: string } }>> = store
if ([createDrizzleStore, createKyselyStore, store.transaction, other.transaction, topic].some(door => typeof door !== 'function'))
  throw new Error('a door is missing')
`,
  )
  assert.equal(await compile(folder, ['orm-doors.mts'], { skipLibCheck: true }), '')
  await run(process.execPath, ['orm-doors.mts'], { cwd: folder })
}

/** The README's code blocks whose first line names a file. */
function writeReadmeFiles(folder: string): void {
  const readme = readFileSync(join(root, 'README.md'), 'utf8')
  const blocks = [...readme.matchAll(/```ts\n\/\/ (\S+)\n([\s\S]*?)```/g)]
  assert.deepEqual(
    blocks.map(block => block[1]),
    ['payment-capture.mts', 'send.mts'],
  )
  for (const [, name, code] of blocks) writeFileSync(join(folder, name!), code!)
}

async function checkTypes(folder: string): Promise<void> {
  writeFileSync(
    join(folder, 'doors.mts'),
    `import { ConsumerProcess, defineConsumer, runConsumer } from 'onceward'
import { startEmbeddedPostgres } from 'onceward/embedded'
import { file } from 'onceward/file'
import { MemoryQueue, MemoryStore } from 'onceward/memory'
import { runRelay } from 'onceward/outbox'
import { createPostgresStore, migrate, publish } from 'onceward/postgres'
import { createRabbitSource, queue } from 'onceward/rabbitmq'
import { stream } from 'onceward/rabbitmq-stream'
import { deliveryConformance, sourceConformance, storeConformance } from 'onceward/testing'
const doors = [ConsumerProcess, defineConsumer, runConsumer, startEmbeddedPostgres, MemoryQueue, MemoryStore, createPostgresStore,
  migrate, publish, createRabbitSource, queue, deliveryConformance, sourceConformance, storeConformance, file, runRelay, stream]
if (doors.some(door => typeof door !== 'function')) throw new Error('a door is missing')
// @ts-expect-error a consumer without an owner is no contract
void (() => defineConsumer({ name: 'x', risk: 'money', source: queue('q'), identity: { id: () => 'x' }, handle() {} }))
`,
  )
  assert.equal(await compile(folder, ['*.mts']), '')
  await run(process.execPath, ['doors.mts'], { cwd: folder })
}

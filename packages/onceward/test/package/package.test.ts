import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createPool } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { createDatabase, skipWithout } from '../services/services.ts'

const root = fileURLToPath(new URL('../../../../', import.meta.url))
const run = promisify(execFile)

describe('the published package, in an empty folder', await skipWithout('postgres'), () => {
  test("installs from its tarball, type-checks, and runs the README's consumer", {
    timeout: 280_000,
  }, async () => {
    await using cleanup = new AsyncDisposableStack()
    const folder = mkdtempSync(join(tmpdir(), 'onceward-package-'))
    cleanup.defer(() => rmSync(folder, { recursive: true, force: true }))
    const database = await createDatabase()
    cleanup.defer(() => database.drop())
    await install(folder)
    writeReadmeFiles(folder)
    await checkTypes(folder)

    const env = { ...process.env, ONCEWARD_DATABASE_URL: database.url, NODE_OPTIONS: '' }
    const cli = join(folder, 'node_modules', '.bin', 'onceward')
    const migrated = await run(cli, ['migrate', '--json'], { cwd: folder, env })
    assert.equal(JSON.parse(migrated.stdout).ok, true)
    await run(process.execPath, ['send.ts'], { cwd: folder, env })
    const consumer = spawn(cli, ['run', 'payment-capture.ts', '--json'], { cwd: folder, env })
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
    await checkOrmDoors(folder)
  })
})

/** Last, so that everything before has run without the libraries. Their own types are theirs to check. */
async function checkOrmDoors(folder: string): Promise<void> {
  // Not the versions of this repository: a range is what the package asks for.
  const libraries = ['kysely@0.29.8', 'drizzle-orm@0.45.4', 'knex@3.3.0', '@platformatic/kafka@2.12.0']
  await run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', ...libraries], { cwd: folder })
  writeFileSync(
    join(folder, 'orm-doors.ts'),
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
  await compile(folder, ['orm-doors.ts'], true)
  await run(process.execPath, ['orm-doors.ts'], { cwd: folder })
}

async function install(folder: string): Promise<void> {
  await run(process.execPath, [join(root, 'scripts', 'build.ts')], { cwd: root })
  const packed = await run('npm', ['pack', '--json', '--pack-destination', folder], {
    cwd: join(root, 'packages', 'onceward'),
  })
  const [{ filename, files }] = JSON.parse(packed.stdout)
  const paths = (files as { path: string }[]).map(file => file.path)
  assert.deepEqual(
    paths.filter(path =>
      /^(src|test|examples|scripts)\/|\.test\.|^dist\/demo\/|migrations\/0.*\.d\.ts$/.test(path),
    ),
    [],
    'only what users need is packed',
  )
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ name: 'empty', private: true, type: 'module' }),
  )
  await run(
    'npm',
    ['install', '--no-audit', '--no-fund', '--ignore-scripts', join(folder, filename), 'amqplib@2.3.1'],
    { cwd: folder },
  )
}

/** The README's code blocks whose first line names a file. */
function writeReadmeFiles(folder: string): void {
  const readme = readFileSync(join(root, 'README.md'), 'utf8')
  const blocks = [...readme.matchAll(/```ts\n\/\/ (\S+)\n([\s\S]*?)```/g)]
  assert.deepEqual(
    blocks.map(block => block[1]),
    ['payment-capture.ts', 'send.ts'],
  )
  for (const [, name, code] of blocks) writeFileSync(join(folder, name!), code!)
}

async function checkTypes(folder: string): Promise<void> {
  writeFileSync(
    join(folder, 'doors.ts'),
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
  await compile(folder, ['*.ts'], false)
  await run(process.execPath, ['doors.ts'], { cwd: folder })
}

async function compile(folder: string, include: readonly string[], skipLibCheck: boolean): Promise<void> {
  const compilerOptions = {
    module: 'nodenext',
    target: 'es2024',
    strict: true,
    noEmit: true,
    skipLibCheck,
    types: ['node'],
    typeRoots: [join(root, 'node_modules', '@types')],
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include }))
  await run(process.execPath, [join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', folder]).catch(
    error => {
      throw new Error(`types of the package do not check:\n${error.stdout}`)
    },
  )
}

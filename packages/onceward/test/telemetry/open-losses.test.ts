import assert from 'node:assert/strict'
import { appendFile, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { type ConsumerContract, defineConsumer, realEnvironment, runConsumer } from 'onceward'
import { file } from 'onceward/file'
import { createPool, createQueue, migrate, postgresQueue } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { acceptLoss, readLosses } from '../../src/operations/losses.ts'
import { renameConsumer } from '../../src/operations/server/names.ts'
import { startObserveServer } from '../../src/runtime/observe-server.ts'
import { catalogue, prometheusName } from '../../src/telemetry/catalogue.ts'
import { createDatabase, skipWithout } from '../services/services.ts'
import { scrape } from '../telemetry/scraped.ts'

const contract = { owner: 'tests', risk: 'projection', handle: () => {} } as const
const name = prometheusName(catalogue.losses)
const patience = { deadlineMs: 60_000 }

async function open(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'onceward-losses-'))
  const database = await createDatabase()
  const pool = createPool(database.url, { max: 2 })
  t.after(async () => {
    await pool.end()
    await database.drop()
    await rm(folder, { recursive: true })
  })
  await migrate(pool)
  await createQueue(pool, 'others')
  const path = join(folder, 'app.jsonl')
  const reads = defineConsumer({
    ...contract,
    name: 'reads',
    source: file(path, { pollMaxMs: 50, rotationMs: 0, standbyMs: 100 }),
    identity: { id: message => message.id },
  } satisfies ConsumerContract<{ id: string }>)
  return { pool, url: database.url, path, reads }
}

/** Another consumer of the database, in a process with metrics. */
async function observe(t: TestContext, url: string) {
  const server = await startObserveServer({ host: '127.0.0.1', port: 0 })
  const others = defineConsumer<{ id: string }>({
    ...contract,
    name: 'others',
    source: postgresQueue('others'),
    identity: { id: message => message.id },
  })
  const running = await runConsumer(others, {
    databaseUrl: url,
    env: realEnvironment({ meter: server.meter }),
  })
  t.after(async () => {
    await running.drain()
    await server.close()
  })
  return async () => (await scrape(server.url)).by(name, 'consumer')
}

describe('losses that no operator has accepted', await skipWithout('postgres'), () => {
  test('are shown by every process of the database until they are accepted, under the name of the consumer', async t => {
    const { pool, url, path, reads } = await open(t)
    const shown = await observe(t, url)
    await until('nothing is lost', async () => (await shown()).others === 0, patience)
    await appendFile(path, '{"id":"a"}\n')
    const first = await runConsumer(reads, { databaseUrl: url })
    const position = async () =>
      (await pool.query('select from onceward.checkpoint where next is not null')).rows
    await until('it has read', async () => (await position()).length === 1, patience)
    await first.drain()
    await rename(path, `${path}.2`)
    await writeFile(`${path}.1.gz`, 'unread')
    await appendFile(path, '{"id":"c"}\n')
    const halted = await runConsumer(reads, { databaseUrl: url })
    await assert.rejects(halted.finished, { code: 'records_lost' })
    await until('the loss is shown', async () => (await shown()).reads === 1, patience)
    await renameConsumer(pool, 'reads', 'renamed', 'a test')
    await until('it has the new name', async () => (await shown()).renamed === 1, patience)
    assert.equal((await shown()).reads, 0)
    const [loss] = await readLosses(pool)
    await acceptLoss(pool, { id: loss!.id, consumer: 'renamed', because: 'a test' })
    await until('nothing is lost any more', async () => (await shown()).renamed === 0, patience)
    assert.deepEqual(await shown(), { others: 0, reads: 0, renamed: 0 })
  })
})

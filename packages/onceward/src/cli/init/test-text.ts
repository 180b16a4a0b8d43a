import { fileName } from './file-name.ts'
import type { ProjectAnswers } from './project.ts'

/** Runs the consumer on a PostgreSQL queue, regardless of its source: the test covers the effect. */
export function testText(answers: ProjectAnswers): string {
  const { name } = answers
  const withStore = (answers.orm ?? 'none') !== 'none'
  return `import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { loadPolicy, runConsumer, withPolicy } from 'onceward'
import { startEmbeddedPostgres } from 'onceward/embedded'
import { createPool, createQueue, migrate, postgresQueue, publish } from 'onceward/postgres'
import { assertVerified, until, verifyConsumer } from 'onceward/testing'
${withStore ? '' : partsImport(answers)}
const here = (file: string) => join(import.meta.dirname, file)

/** A server for this test, or the one that ONCEWARD_TEST_DATABASE_URL names. */
async function openDatabase() {
  const url = process.env.ONCEWARD_TEST_DATABASE_URL
  if (url !== undefined) return { url, close: async () => {} }
  const folder = await mkdtemp(join(tmpdir(), '${name}-'))
  const server = await startEmbeddedPostgres({ dataDir: join(folder, 'postgres') })
  const close = async () => {
    await server.stop()
    // Under root the server uses another data folder.
    for (const path of [server.dataDir, folder]) await rm(path, { recursive: true, force: true })
  }
  return { url: server.url, close }
}

test('a request that arrives three times is booked once', async () => {
  const database = await openDatabase()
  const pool = createPool(database.url, { max: 2 })
  try {
    await migrate(pool)
    await pool.query(await readFile(here('tables.sql'), 'utf8'))
    await createQueue(pool, '${name}.test')
    const body = (requestId: string) => JSON.stringify({ messageId: \`m-\${requestId}\`, requestId, amount: 4200 })
    await publish(pool, '${name}.test', ['1', '1', '1', '2'].map(id => ({ body: body(id) })))

    const policy = await loadPolicy(here('onceward.yaml'))
${withStore ? storeImport(answers) : ''}    const consumer = withPolicy({ ...parts, source: postgresQueue('${name}.test') }, policy)
    const running = await runConsumer(consumer, { databaseUrl: database.url${withStore ? ', store' : ''} })
    const handled = () => Object.values(running.consumer?.tally.outcomes ?? {}).reduce((sum, n) => sum + n, 0)
    await until('all four are handled', () => handled() === 4)
    await running.drain(10_000)

    const { rows } = await pool.query('select request_id from ${name}_booked order by 1')
    assert.deepEqual(rows, [{ request_id: '1' }, { request_id: '2' }])
${withStore ? '    await store.close?.()\n' : ''}  } finally {
    await pool.end()
    await database.close()
  }
})
${verifyText(answers)}`
}

function partsImport(answers: ProjectAnswers): string {
  return `import parts from './${fileName(answers)}.ts'
`
}

function storeImport(answers: ProjectAnswers): string {
  return `    // Its store connects to the database of the environment.
    process.env.ONCEWARD_DATABASE_URL = database.url
    const { default: parts, store } = await import('./${fileName(answers)}.ts')
`
}

function verifyText(answers: ProjectAnswers): string {
  return `
test('the consumer survives crashes, races and replays', async () => {
  const database = await openDatabase()
  try {
    const message = (number: number) => ({ messageId: \`m-\${number}\`, requestId: \`r-\${number}\`, amount: 4200 })
    const report = await verifyConsumer({
      file: here('${fileName(answers)}.ts'),
      databaseUrl: database.url,
      schema: here('tables.sql'),
      samples: [message(1), message(2), message(3)],
      budgetMs: 120_000,
    })
    assertVerified(report)
  } finally {
    await database.close()
  }
})
`
}

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createPool, createQueue, publish } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { createDatabase, skipWithout } from '../services/services.ts'

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
const index = new URL('../../src/index.ts', import.meta.url).href
const postgres = new URL('../../src/postgres.ts', import.meta.url).href

const consumer = (name: string) => `import { defineConsumer } from '${index}'
import { postgresQueue } from '${postgres}'
export default defineConsumer({
  name: '${name}', owner: 'team', risk: 'money', source: postgresQueue('${name}.q'),
  identity: { id: (m: { id: string }) => m.id },
  async handle({ message, tx }) { await tx.query('insert into done values ($1, $2)', ['${name}', message.id]) },
})
`

describe('onceward run with several files', await skipWithout('postgres'), () => {
  test('runs all consumers in one process, which end together', { timeout: 120_000 }, async () => {
    await using cleanup = new AsyncDisposableStack()
    const database = await createDatabase()
    cleanup.defer(() => database.drop())
    const folder = mkdtempSync(join(tmpdir(), 'onceward-several-'))
    cleanup.defer(() => rmSync(folder, { recursive: true, force: true }))
    const pool = createPool(database.url, { max: 1 })
    cleanup.defer(() => pool.end())
    await pool.query('create table done (consumer text, id text)')
    const files = ['first', 'second'].map(name => join(folder, `${name}.mts`))
    for (const name of ['first', 'second']) {
      writeFileSync(join(folder, `${name}.mts`), consumer(name))
      await createQueue(pool, `${name}.q`)
      await publish(pool, `${name}.q`, [{ body: { id: '1' } }, { body: { id: '1' } }])
    }
    const env = {
      ...process.env,
      ONCEWARD_DATABASE_URL: database.url,
      ONCEWARD_JSON: 'true',
      ONCEWARD_METRICS_PORT: 'off',
    }
    const child = spawn(process.execPath, ['--conditions=@onceward/source', main, 'run', ...files], { env })
    cleanup.defer(() => void child.kill('SIGKILL'))
    let stdout = ''
    child.stdout.on('data', chunk => {
      stdout += chunk
    })
    const ended = new Promise(resolve => child.once('close', resolve))
    await until('both queues are empty', async () => {
      const { rows } = await pool.query('select count(*)::int as n from onceward.queue_message')
      return rows[0].n === 0
    })
    child.kill('SIGTERM')
    assert.equal(await ended, 0)
    const { outcomes, consumers } = JSON.parse(stdout.trim().split('\n').at(-1)!)
    assert.deepEqual(outcomes, { applied: 2, duplicate: 2 })
    assert.deepEqual(consumers.second.outcomes, { applied: 1, duplicate: 1 })
    const { rows } = await pool.query('select * from done order by 1')
    assert.deepEqual(rows, [
      { consumer: 'first', id: '1' },
      { consumer: 'second', id: '1' },
    ])
  })
})

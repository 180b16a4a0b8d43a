import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createPool, createQueue, migrate, publish } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { createDatabase, skipWithout } from '../services/services.ts'

const pathOf = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))
const page = readFileSync(pathOf('../../../../docs/your-orm.md'), 'utf8')

describe('the examples of docs/your-orm.md', await skipWithout('postgres'), () => {
  for (const library of ['kysely', 'drizzle', 'knex']) {
    const file = pathOf(`your-orm/${library}.ts`)

    test(`${library}: the page shows the file that is run`, () => {
      assert.ok(page.includes(`\`\`\`ts\n${readFileSync(file, 'utf8')}\`\`\``))
    })

    test(`${library}: a message delivered three times is captured once, by \`onceward run\``, async () => {
      await using cleanup = new AsyncDisposableStack()
      const database = await createDatabase()
      cleanup.defer(() => database.drop())
      const pool = createPool(database.url, { max: 1 })
      cleanup.defer(() => pool.end())
      await migrate(pool)
      await pool.query('create table capture (id text primary key, amount integer not null)')
      await createQueue(pool, 'captures.q')
      const body = Buffer.from('{"id":"cap-1","amount":4200}')
      await publish(pool, 'captures.q', [{ body }, { body }, { body }])

      const args = ['--conditions=@onceward/source', pathOf('../../src/cli/main.ts'), 'run', file, '--json']
      const env = { ...process.env, ONCEWARD_DATABASE_URL: database.url }
      const consumer = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
      cleanup.defer(() => void consumer.kill('SIGKILL'))
      const ended = new Promise(resolve => consumer.once('close', resolve))
      let stdout = ''
      consumer.stdout.on('data', chunk => {
        stdout += chunk
      })
      await until('the queue is empty', async () => {
        const { rows } = await pool.query('select count(*)::int from onceward.queue_message')
        return rows[0].count === 0
      })
      consumer.kill('SIGTERM')
      assert.equal(await ended, 0, 'nothing keeps the process')
      assert.deepEqual(JSON.parse(stdout.trim().split('\n').at(-1)!).outcomes, { applied: 1, duplicate: 2 })
      assert.deepEqual((await pool.query('select * from capture')).rows, [{ id: 'cap-1', amount: 4200 }])
    })
  }
})

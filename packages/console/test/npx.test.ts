import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createPool, migrate } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { createDatabase, skipWithout } from '../../onceward/test/services/services.ts'
import { Client } from './bench/client.ts'
import { freePort } from './bench/free-port.ts'

const main = fileURLToPath(new URL('../src/server/main.ts', import.meta.url))

describe('the program of the package @onceward/console', await skipWithout('postgres'), () => {
  it('serves the console with the options of "onceward console", and ends with SIGTERM', async t => {
    const database = await createDatabase()
    const pool = createPool(database.url, { max: 1 })
    t.after(async () => {
      await pool.end()
      await database.drop()
    })
    await migrate(pool)
    const port = String(await freePort())
    const options = ['--port', port, '--base-path', '/ops/desk', '--person', 'ann']
    const child = spawn(process.execPath, [...process.execArgv, main, ...options], {
      env: { ...process.env, ONCEWARD_DATABASE_URL: database.url },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    t.after(() => child.kill())
    let printed = ''
    child.stdout.on('data', part => {
      printed += part
    })
    await until('the link is printed', async () => /#link=\S+\n/.test(printed))
    const link = /http:\S+#link=\S+/.exec(printed)![0]
    assert.ok(link.startsWith(`http://127.0.0.1:${port}/ops/desk/#link=`), link)
    const ann = await Client.signIn(link)
    assert.equal((await ann.get('session')).body.person, 'ann')
    assert.deepEqual((await ann.get('overview')).body.consumers, [])
    child.kill('SIGTERM')
    assert.deepEqual(await once(child, 'exit'), [0, null])
  })
})

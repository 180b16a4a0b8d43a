import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { realEnvironment } from 'onceward'
import { createPool, migrate } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { startObserveServer } from '../../src/runtime/observe-server.ts'
import { createDatabase, skipWithout } from '../services/services.ts'
import { type Scraped, scrape } from '../telemetry/scraped.ts'
import { stageUpkeep } from './staged-upkeep.ts'

describe('retention, leases and transactions that fail', await skipWithout('postgres', 'kafka'), () => {
  test('are seen above zero', async t => {
    const database = await createDatabase()
    const pool = createPool(database.url, { max: 4 })
    const server = await startObserveServer({ host: '127.0.0.1', port: 0 })
    t.after(async () => {
      await server.close()
      await pool.end()
      await database.drop()
    })
    await migrate(pool)
    const env = realEnvironment({ meter: server.meter })
    const upkeep = await stageUpkeep(t, pool, { databaseUrl: database.url, env })
    let page: Scraped
    const quiet = () => upkeep.seen.filter(([name, labels]) => !(page.sum(name, labels) > 0))
    const allSeen = async () => {
      page = await scrape(server.url)
      return quiet().length === 0
    }
    try {
      await until('each is above zero', allSeen).catch(() => assert.deepEqual(quiet(), []))
    } finally {
      await upkeep.close()
    }
  })
})

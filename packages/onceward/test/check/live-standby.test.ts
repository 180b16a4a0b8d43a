import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPool, migrate } from 'onceward/postgres'
import { ask, caughtUp, Servers } from '../restore/servers.ts'
import { consumerWith } from './contract-pairs.ts'
import { liveFindings } from './live-scene.ts'

test('a check distinguishes a standby from its primary, and a promoted one from the accepted incarnation', async () => {
  await using servers = new Servers()
  const primary = await servers.primary()
  const pool = createPool(primary.url)
  await migrate(pool, { environment: 'test' })
  await pool.end()
  const standby = await servers.standby(await servers.copy(primary), primary.url)
  await caughtUp(primary, standby)
  const idsAt = async ({ url }: { readonly url: string }) => {
    const found = await liveFindings([consumerWith()], { databaseUrl: url, environment: 'test' })
    return found.map(one => one.id).filter(id => ['OW405', 'OW417', 'OW901'].includes(id))
  }
  assert.deepEqual(await idsAt(primary), [])
  assert.deepEqual(await idsAt(standby), ['OW405'])
  assert.equal(await ask(standby, 'select pg_promote(true, 30)'), true)
  assert.deepEqual(await idsAt(standby), ['OW417'])
})

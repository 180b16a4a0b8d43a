import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConsumerProcess, defineConsumer, realEnvironment } from 'onceward'
import { deliveryConformance, sourceConformance, storeConformance, until } from 'onceward/testing'
import { sqliteQueue, sqliteStoreFactory } from './sqlite.ts'
import type { SqliteTransaction } from './sqlite-store.ts'

sourceConformance('a queue in SQLite', sqliteQueue)
storeConformance('a store of the required core in SQLite', sqliteStoreFactory)
deliveryConformance('SQLite queue × SQLite store', { source: sqliteQueue, store: sqliteStoreFactory })

test('a consumer on both applies each message once, however often it is published', async t => {
  const [queue, under] = [await sqliteQueue.create({ keyOrder: false }), await sqliteStoreFactory.create()]
  t.after(() => Promise.all([queue.close(), under.close()]))
  const consumer = defineConsumer<{ readonly id: string }, SqliteTransaction>({
    name: 'sqlite_orders',
    owner: 'shop',
    risk: 'low value',
    source: { kind: 'sqlite' },
    identity: { id: order => order.id },
    handle: ({ message, tx }) => under.apply(tx, message.id),
  })
  const around = { source: queue.source, store: under.store, env: realEnvironment(), instance: 'one' }
  const process = new ConsumerProcess({ consumer, ...around })
  const ids = Array.from({ length: 20 }, (_, n) => `o${n}`)
  await queue.publish([...ids, ...ids].map(id => ({ body: Buffer.from(JSON.stringify({ id })) })))
  await process.start()
  await until('the queue is empty', async () => (await queue.remaining!()) === 0)
  await process.drain()
  assert.deepEqual([...(await under.applied())].sort(), ids.toSorted())
})

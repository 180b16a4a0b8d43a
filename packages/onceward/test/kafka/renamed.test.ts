import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { defineConsumer, runConsumer } from 'onceward'
import { topic } from 'onceward/kafka'
import { createPool, migrate } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { renameConsumer } from '../../src/operations/server/names.ts'
import { createDatabase, kafkaBootstrap, skipWithout } from '../services/services.ts'
import { openCluster } from './reader.ts'

describe('a consumer of a topic that is renamed', await skipWithout('kafka', 'postgres'), () => {
  test('reports a group named after it, and continues as that group, each message once', async t => {
    const kafka = await openCluster(t)
    const database = await createDatabase()
    const pool = createPool(database.url, { max: 2 })
    t.after(async () => {
      await pool.end()
      await database.drop()
    })
    await migrate(pool)
    const name = await kafka.createTopic({ partitions: 1 })
    const applied: string[] = []
    const start = async (consumer: string, group?: string) =>
      runConsumer(
        defineConsumer<{ id: string }>({
          name: consumer,
          owner: 'tests',
          risk: 'projection',
          source: topic(name, { start: 'earliest', ...(group && { group }) }),
          identity: { id: message => message.id },
          handle: async ({ message }) => void applied.push(message.id),
        }),
        { databaseUrl: database.url, kafkaBootstrap: await kafkaBootstrap(), parts: ['consumer'] },
      )
    await kafka.produce(name, ['{"id":"a"}', '{"id":"b"}'])
    const first = await start('gnu')
    await until('both are applied', () => applied.length === 2)
    await first.drain()
    await kafka.produce(name, ['{"id":"c"}'])
    await renameConsumer(pool, 'gnu', 'kudu', 'a test')
    const lost = start('kudu').then(running => running.finished)
    await assert.rejects(lost, { code: 'records_lost', message: /before the consumer was renamed/ })
    const second = await start('kudu', 'gnu.1')
    await until('the third is applied', () => applied.length === 3)
    await second.drain()
    assert.deepEqual(applied, ['a', 'b', 'c'])
    await assert.rejects(start('gnu'), { code: 'consumer_renamed' })
  })
})

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { defineConsumer, realEnvironment, runConsumer } from 'onceward'
import { createPool, migrate } from 'onceward/postgres'
import { queue } from 'onceward/rabbitmq'
import { until } from 'onceward/testing'
import type { LogFields } from '../../src/environment.ts'
import { startObserveServer } from '../../src/runtime/observe-server.ts'
import { startTcpProxy } from '../proxy/tcp-proxy.ts'
import { createTestQueue } from '../rabbitmq/broker.ts'
import { createDatabase, skipWithout } from '../services/services.ts'
import { scrape } from './scraped.ts'

describe('a message whose acknowledgement is lost', await skipWithout('postgres', 'rabbitmq'), () => {
  test('is counted as redelivered and as a duplicate, and its log line has every field', async t => {
    const database = await createDatabase()
    const pool = createPool(database.url, { max: 1 })
    const parcels = await createTestQueue(t)
    const { hostname, port } = new URL(parcels.url)
    const proxy = await startTcpProxy({ host: hostname, port: Number(port) })
    const server = await startObserveServer({ host: '127.0.0.1', port: 0 })
    t.after(async () => {
      await server.close()
      await proxy.close()
      await pool.end()
      await database.drop()
    })
    await migrate(pool)
    const lines: { message: string; fields: LogFields }[] = []
    const note = (message: string, fields: LogFields = {}) => void lines.push({ message, fields })
    const log = { debug: note, info: note, warn: note, error: note }
    let calls = 0
    const counted = async (metric: string, labels = {}) => (await scrape(server.url)).sum(metric, labels)
    const consumer = defineConsumer({
      name: 'parcels',
      owner: 'shop',
      risk: 'low value',
      source: queue(parcels.name, { url: proxy.through(parcels.url) }),
      identity: {
        id: { property: 'messageId' },
        businessKey: { header: 'order' },
        correlationId: { property: 'correlationId' },
        causationId: { header: 'cause' },
      },
      async handle() {
        calls++
        proxy.cut()
        await until(
          'the lost connection is noticed',
          async () => (await counted('onceward_consumer_source_events_total', { kind: 'disconnected' })) > 0,
        )
      },
    })
    const running = await runConsumer(consumer, {
      databaseUrl: database.url,
      env: realEnvironment({ log, meter: server.meter }),
    })
    parcels.channel.sendToQueue(parcels.name, Buffer.from('{}'), {
      messageId: 'evt-20260701-0001',
      correlationId: 'corr-72b1',
      headers: { order: 'order-88421', cause: 'cmd-61f2' },
      persistent: true,
    })
    const duplicate = () => lines.find(({ message }) => message === 'message duplicate')
    await until('the duplicate is logged', () => duplicate() !== undefined, { deadlineMs: 60_000 })
    assert.deepEqual(duplicate()!.fields, {
      consumer: 'parcels',
      messageId: 'evt-20260701-0001',
      businessKey: 'order-88421',
      dedupDecision: 'DUPLICATE_SAME_PAYLOAD',
      redelivered: true,
      correlationId: 'corr-72b1',
      causationId: 'cmd-61f2',
      outcome: 'duplicate',
    })
    await until(
      'the repeat is counted',
      async () => (await counted('onceward_consumer_duplicates_total')) === 1,
    )
    assert.equal(await counted('onceward_consumer_ack_failures_total'), 1)
    assert.equal(await counted('onceward_consumer_redelivered_messages_total'), 1)
    assert.equal(calls, 1)
    await running.drain(5_000)
  })
})

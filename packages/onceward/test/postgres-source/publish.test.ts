import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { createPool } from '../../src/drivers/postgres/pool.ts'
import {
  createPostgresSource,
  postgresQueue,
  publish,
  queueDepth,
} from '../../src/drivers/postgres/queue/index.ts'
import { createEmptyDatabase, skipWithout } from '../services/services.ts'
import { receiveCount, type TestQueues, testQueues, texts } from './queue-under-test.ts'

const guard = await skipWithout('postgres')
const queues = guard.skip ? (null as unknown as TestQueues) : await testQueues()
after(() => queues?.close())

describe('publishing to a PostgreSQL queue', guard, () => {
  it("exists only if the caller's transaction commits", async () => {
    const queue = await queues.createQueue()
    const client = await queues.pool.connect()
    await client.query('begin')
    await publish(client, queue, [{ body: 'never' }])
    await client.query('rollback')
    assert.deepEqual(await queueDepth(queues.pool, queue), { messages: 0, leased: 0 })
    await client.query('begin')
    await publish(client, queue, [{ body: 'once' }])
    await client.query('commit')
    client.release()
    const subscription = await queues.open(queue)
    assert.deepEqual(texts(await subscription.receive(10)), ['once'])
  })

  it('keeps bytes, headers, properties, key and order exactly', async () => {
    const queue = await queues.createQueue()
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i))
    await publish(queues.pool, queue, [
      { body: bytes, messageId: 'id-1', key: 'k "1", {x}', headers: { a: { b: [1, 'é'] } } },
      { body: { amount: 5 }, properties: { messageId: 'id-2', type: 'paid', timestampMs: 7 } },
      { body: '', key: null },
    ])
    const [first, second, third] = await receiveCount(await queues.open(queue), 3)
    assert.ok(first!.body.equals(bytes))
    assert.deepEqual(
      [first!.key, structuredClone(first!.headers), { ...first!.properties }],
      ['k "1", {x}', { a: { b: [1, 'é'] } }, { messageId: 'id-1' }],
    )
    assert.equal(second!.body.toString(), '{"amount":5}')
    assert.deepEqual({ ...second!.properties }, { messageId: 'id-2', type: 'paid', timestampMs: 7 })
    assert.deepEqual([third!.body.length, third!.key], [0, null])
    assert.deepEqual([{ ...third!.headers }, { ...third!.properties }], [{}, {}])
    assert.deepEqual(
      [first!.origin, first!.position, first!.deliveryCount, first!.redelivered],
      [queue, null, 0, false],
    )
  })

  it('refuses a queue that does not exist, on both sides', async () => {
    await assert.rejects(publish(queues.pool, 'nowhere', [{ body: 'x' }]), { code: 'configuration' })
    await assert.rejects(queues.open('nowhere'), { code: 'configuration', message: /does not exist/ })
  })

  it('refuses to open without the schema, and retries without the server', async () => {
    const bare = await createEmptyDatabase()
    const pool = createPool(bare.url)
    await assert.rejects(queues.open('q', { pool }), { code: 'configuration', message: /onceward migrate/ })
    await pool.end()
    await bare.drop()
    const away = createPostgresSource(postgresQueue('q', { url: 'postgres://x@127.0.0.1:1/x' }), {})
    const events: string[] = []
    const subscription = await away.open({
      inFlightMax: 1,
      inFlightBytesMax: 1,
      onEvent: event => events.push(event.kind),
    })
    const receiving = subscription.receive(1)
    await subscription.close()
    assert.deepEqual(await receiving, [])
    assert.deepEqual(events, ['disconnected'])
  })
})

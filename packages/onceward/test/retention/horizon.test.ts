import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type ConsumerContract, type Mode, realEnvironment } from 'onceward'
import { until } from 'onceward/testing'
import { readHorizon } from '../../src/drivers/postgres/retention/read-horizon.ts'
import { assertInsideHorizon } from '../../src/operations/retention/horizon.ts'
import { purgeConsumer } from '../../src/operations/retention/purge-consumer.ts'
import { declareTerms } from '../../src/operations/retention/record-pass.ts'
import { countingDatabase, startCounting } from '../delivery/counting.ts'
import { skipWithout } from '../services/services.ts'
import { day, memoryScene, purge, purgeOptions } from './scene.ts'

type Changes = Partial<ConsumerContract<{ id: string; key: string }>>
const retention = { markers: '30d', sourceKeeps: '20d' }

/** A consumer that has applied `m` 40 days ago and forgot it. */
async function forgetful(changes: Changes, mode: Mode = 'live') {
  const database = await countingDatabase()
  const real = realEnvironment()
  let counted = 0
  const metrics: typeof real.metrics = {
    ...real.metrics,
    add(key, count, labels) {
      if (key === 'behindHorizon') counted += count
      real.metrics.add(key, count, labels)
    },
  }
  const consumer = await startCounting(database.url, { retention, ...changes } as never, {}, mode, {
    ...real,
    metrics,
  })
  const deliver = (key: string, id: string, timestampMs?: number) =>
    consumer.queue.publish({
      body: JSON.stringify({ id, key }),
      ...(timestampMs !== undefined && { properties: { timestampMs } }),
    })
  deliver('k', 'm', Date.now() - 40 * day)
  await until('it is applied', () => consumer.queue.unsettled === 0)
  await database.pool.query(`update onceward.inbox set at = clock_timestamp() - interval '40 days'`)
  const { rows } = await database.pool.query('select id from onceward.consumer')
  const scene = { pool: database.pool, consumerId: rows[0].id as number }
  assert.equal((await purgeConsumer(purgeOptions(scene))).removed.markers, 1)
  return {
    database,
    consumer,
    deliver,
    counted: () => counted,
    async [Symbol.asyncDispose]() {
      await consumer[Symbol.asyncDispose]()
      await database[Symbol.asyncDispose]()
    },
  }
}

describe('a message older than the remaining markers', await skipWithout('postgres'), () => {
  test('is parked instead of applied again, and other messages continue', async () => {
    await using scene = await forgetful({})
    scene.deliver('k', 'm', Date.now() - 40 * day)
    scene.deliver('k', 'new', Date.now())
    scene.deliver('k', 'timeless')
    await until('all is settled', () => scene.consumer.queue.unsettled === 0)
    assert.equal(await scene.database.times('k'), 3)
    const [held] = await scene.database.held()
    assert.deepEqual([held.id, held.state, held.code], ['m', 'parked', 'behind_horizon'])
    assert.match(held.reason, /markers before .* UTC are removed/)
  })

  test('is not applied again by a run in mode replay either', async () => {
    await using scene = await forgetful({}, 'replay')
    scene.deliver('k', 'm', Date.now() - 40 * day)
    await until('it is settled', () => scene.consumer.queue.unsettled === 0)
    assert.equal(await scene.database.times('k'), 1)
    assert.equal((await scene.database.held())[0].code, 'behind_horizon')
  })

  test('is applied and reported where the contract says so', async () => {
    await using scene = await forgetful({ retention: { ...retention, behindHorizon: 'apply' } })
    scene.deliver('k', 'm', Date.now() - 40 * day)
    await until('it is settled', () => scene.consumer.queue.unsettled === 0)
    assert.equal(await scene.database.times('k'), 2)
    assert.deepEqual(await scene.database.held(), [])
    assert.equal(scene.counted(), 1)
  })

  test('is counted when it is parked', async () => {
    await using scene = await forgetful({})
    scene.deliver('k', 'm', Date.now() - 40 * day)
    await until('it is settled', () => scene.consumer.queue.unsettled === 0)
    assert.equal(scene.counted(), 1)
  })

  test('is detected by its id on sources without timestamps', async () => {
    const hex = (Date.now() - 40 * day).toString(16).padStart(12, '0')
    const id = `${hex.slice(0, 8)}-${hex.slice(8)}-7cc3-98c4-dc0c0c07398f`
    await using scene = await forgetful({ identity: { id: m => m.id, idTime: 'uuidv7' } })
    scene.deliver('k', id)
    await until('it is settled', () => scene.consumer.queue.unsettled === 0)
    assert.equal(await scene.database.times('k'), 1)
    assert.deepEqual(
      (await scene.database.held()).map(row => row.id),
      [id],
    )
  })

  test('keeps its place: with key order, later messages of its key wait behind it', async () => {
    await using scene = await forgetful({ order: 'key', identity: { id: m => m.id, orderKey: m => m.key } })
    scene.deliver('k', 'm', Date.now() - 40 * day)
    scene.deliver('k', 'next', Date.now())
    scene.deliver('other', 'free', Date.now())
    await until('all is settled', () => scene.consumer.queue.unsettled === 0)
    assert.deepEqual([await scene.database.times('k'), await scene.database.times('other')], [1, 1])
    assert.deepEqual(
      (await scene.database.held()).map(row => [row.id, row.code]),
      [
        ['m', 'behind_horizon'],
        ['next', 'behind_parked'],
      ],
    )
  })

  test('is parked in stored mode too', async () => {
    await using scene = await forgetful({})
    await using stored = await startCounting(scene.database.url, {
      retention,
      inbox: { mode: 'stored' },
    } as never)
    stored.queue.publish({
      body: JSON.stringify({ id: 'm', key: 'k' }),
      properties: { timestampMs: Date.now() - 40 * day },
    })
    await until('it is settled', () => stored.queue.unsettled === 0)
    assert.deepEqual(
      (await scene.database.held()).map(row => [row.id, row.state]),
      [['m', 'parked']],
    )
  })

  test('is detected by a process without a term, once another one has declared a term', async () => {
    await using database = await countingDatabase()
    let laterMs = 0
    const env = realEnvironment()
    const clock = { nowMs: () => env.clock.nowMs() + laterMs }
    await using consumer = await startCounting(database.url, {}, {}, 'live', { ...env, clock })
    const deliver = async (id: string, timestampMs: number) => {
      consumer.queue.publish({ body: JSON.stringify({ id, key: 'k' }), properties: { timestampMs } })
      await until(`${id} is settled`, () => consumer.queue.unsettled === 0)
    }
    await deliver('m', Date.now() - 10 * day)
    const { rows } = await database.pool.query('select id from onceward.consumer')
    const scene = { pool: database.pool, consumerId: rows[0].id as number }
    const options = purgeOptions(scene, { markers: '7d' })
    await declareTerms(database.pool, scene.consumerId, options.retention, 0)
    laterMs += 60_000
    await deliver('next', Date.now())
    await database.pool.query(`update onceward.inbox set at = clock_timestamp() - interval '10 days'`)
    assert.equal((await purgeConsumer(options)).removed.markers, 2)
    await deliver('m', Date.now() - 10 * day)
    assert.equal(await database.times('k'), 2)
    assert.equal((await database.held())[0].code, 'behind_horizon')
  })

  test('that still has its marker is a duplicate like any other', async () => {
    await using scene = await forgetful({})
    scene.deliver('k', 'kept', Date.now() - 40 * day)
    await until('it is parked', () => scene.consumer.queue.unsettled === 0)
    scene.deliver('k', 'kept', Date.now() - 40 * day)
    await until('it is settled', () => scene.consumer.queue.unsettled === 0)
    assert.equal(scene.consumer.process.tally.outcomes['already held'], 1)
  })
})

describe('a replay', await skipWithout('postgres'), () => {
  test('that reaches before the horizon is refused, with consumers, time and keys', async () => {
    await using scene = await memoryScene()
    const { pool, consumerId, otherId } = scene
    const from = new Date(Date.now() - 40 * day)
    const reach = { consumerIds: [consumerId, otherId], from, covered: ['k1', 'k2'] }
    await assertInsideHorizon(pool, reach)
    assert.equal(await readHorizon(pool, consumerId), null)
    await scene.markers('old-', 5, 60)
    await purge(scene)
    await assert.rejects(assertInsideHorizon(pool, reach), {
      code: 'behind_horizon',
      message:
        /remembering \(generation 1\) is protected only from .*Z on, 5 markers were removed.*of k1, k2/s,
    })
    await assert.rejects(assertInsideHorizon(pool, { ...reach, from: null }), { code: 'behind_horizon' })
    await assertInsideHorizon(pool, { ...reach, from: new Date(Date.now() - 20 * day) })
    await assertInsideHorizon(pool, { ...reach, consumerIds: [otherId] })
  })
})

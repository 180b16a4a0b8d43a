import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { until } from 'onceward/testing'
import { skipWithout } from '../../packages/onceward/test/services/services.ts'
import { sample, scan } from './produce.ts'
import { openScene, type Scene } from './test/scene.ts'

const parcels = (scene: Scene, table = 'parcel') => scene.rows(`select * from ${table} order by parcel_id`)
const customersNotified = (scene: Scene, customers: number) =>
  until(`${customers} customers were notified`, async () => {
    const [row] = await scene.rows(`select count(*)::int from onceward.ledger where state = 'completed'`)
    return row.count === customers
  })

describe('parcel tracking over a RabbitMQ stream', {
  concurrency: 2,
  ...(await skipWithout('postgres', 'rabbitmq')),
}, () => {
  it('counts each scan once, notifies each customer once, and keeps its position in the store', async t => {
    const scene = await openScene(t)
    const scans = sample(20)
    await scene.send(scans)
    const running = await scene.run()
    await scene.decidedAll(scans)
    await customersNotified(scene, 15)
    await until('every record is passed', async () => (await scene.position())! >= scans.length)
    const counts = await scene.rows('select scans, count(*)::int from parcel group by scans order by scans')
    assert.deepEqual(counts, [
      { scans: 3, count: 5 },
      { scans: 4, count: 15 },
    ])
    assert.equal(running.consumer!.tally.outcomes.duplicate, scans.length - 75)
    assert.equal(new Set(scene.notifier.book.map(call => call.key)).size, 15)
  })

  for (const [point, committed] of [
    ['batch.fenced', false],
    ['batch.committed', true],
  ] as const) {
    it(`commits its position with the effect or neither when it is killed at ${point}`, async t => {
      const scene = await openScene(t)
      await scene.send([scan('a', 0), scan('a', 1)])
      assert.equal(await scene.dies(point, 1), 'SIGKILL')
      const position = (await scene.position())!
      const rows = await parcels(scene)
      assert.equal(position > 0, committed)
      assert.equal(rows[0]?.scans ?? 0, position)

      const running = await scene.run()
      await scene.decidedAll([scan('a', 0), scan('a', 1)])
      assert.deepEqual(
        (await parcels(scene)).map(row => [row.status, row.scans]),
        [['in transit', 2]],
      )
      // Nothing is read again that the position has passed: there is nothing to recognise.
      assert.equal(running.consumer!.tally.outcomes.duplicate ?? 0, 0)
    })
  }

  it('rebuilds from the first record beside the live table, row by row the same, and notifies no customer again', async t => {
    const scene = await openScene(t)
    const scans = sample(20)
    await scene.send(scans)
    const live = await scene.run()
    await scene.decidedAll(scans)
    await customersNotified(scene, 15)
    const calls = scene.notifier.book.length

    const rebuilding = await scene.run({ mode: 'rebuild', generation: 2 })
    await scene.decidedAll(scans, 2)
    assert.deepEqual(await parcels(scene, 'parcel_rebuilt'), await parcels(scene))
    await rebuilding.drain()
    assert.equal(scene.notifier.book.length, calls)
    assert.equal((await scene.rows('select 1 from onceward.ledger')).length, 15)

    // The live generation has gone on reading all the while.
    await scene.send([scan('late', 0)])
    await scene.decidedAll([...scans, scan('late', 0)])
    assert.equal((await parcels(scene)).length, 21)
    await live.drain()
  })
})

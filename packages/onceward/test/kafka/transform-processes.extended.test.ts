import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { until } from '../../src/testing/until.ts'
import { skipWithout } from '../services/services.ts'
import { assertOnce, setUp, start, working, written } from './transform-scene.ts'

describe('transforms of several processes', await skipWithout('kafka'), () => {
  test('killed at any moment, beside others that retry, loses, doubles and reorders nothing', async t => {
    const { kafka, orders, feed, total } = await setUp(t, 4)
    await feed(200)
    // Named and unnamed: the one regains its partitions, those of the other wait for its session to end.
    const named = (index: number) => orders({ delayMs: 200, ...(index === 0 && { instance: 'named' }) })
    const workers = [start(t, named(0)), start(t, named(1))]
    for (const victim of [0, 1, 0]) {
      const before = Math.max(0, workers[victim]!.committed)
      await until('the victim works', async () => {
        await feed(40)
        return working(workers[victim]!).committed > before + 1
      })
      workers[victim]!.child.kill('SIGKILL')
      await workers[victim]!.ended
      workers[victim] = start(t, named(victim))
    }
    await until(
      'all is written',
      async () => {
        workers.forEach(working)
        return (await written(kafka, orders())) >= total()
      },
      { deadlineMs: 120_000 },
    )
    await assertOnce(kafka, orders(), total())
  })

  test('joined and left by others during retries, moves its partitions without a loss', async t => {
    const { kafka, orders, feed, total } = await setUp(t, 6)
    await feed(300)
    const slow = orders({ delayMs: 400, batchMax: 10 })
    const first = start(t, slow)
    await until('the first works', () => working(first).committed > 1)
    const second = start(t, slow)
    await until('the second works', async () => {
      await feed(60)
      return working(second).committed > 1
    })
    first.child.kill('SIGTERM')
    assert.equal(await first.ended, 'exit 0', first.said)
    const third = start(t, slow)
    await until(
      'all is written',
      async () => {
        for (const worker of [second, third]) working(worker)
        return (await written(kafka, slow)) >= total()
      },
      { deadlineMs: 120_000 },
    )
    await assertOnce(kafka, slow, total())
  })
})

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { CrashPoint } from '../../src/crash-points.ts'
import { until } from '../../src/testing/until.ts'
import { skipWithout } from '../services/services.ts'
import { assertOnce, setUp, start, working, written } from './transform-scene.ts'

const points: readonly CrashPoint[] = ['transform.produced', 'transform.positioned', 'transform.committed']

describe('a transform whose process is killed', await skipWithout('kafka'), () => {
  for (const point of points) {
    test(`at ${point} writes each output and each dead letter once`, async t => {
      const { kafka, orders, feed, total } = await setUp(t, 2)
      await feed(120)
      for (const hit of [1, 2, 3]) {
        const dying = start(t, orders({ instance: 'one', dieAt: { point, hit } }))
        assert.equal(await dying.ended, 'SIGKILL', dying.said)
        await feed(60)
      }
      const heir = start(t, orders({ instance: 'one' }))
      const all = async () => working(heir) && (await written(kafka, orders())) >= total()
      await until('all is written', all, { deadlineMs: 90_000 })
      await assertOnce(kafka, orders(), total())
    })
  }
})

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { resolveRetention } from '../../src/contract/retention.ts'
import { HorizonGuard } from '../../src/engine/batch/horizon-guard.ts'
import { silent } from '../../src/environment.ts'

const minute = 60_000
const day = 86_400_000
const startMs = Date.UTC(2026, 0, 1)

/** A guard whose time the test moves, before a store that counts how often it is asked. */
function guarded(markers: string | null) {
  const scene = { clockMs: 0, asked: 0, purgedBeforeMs: null as number | null, keepMs: null as number | null }
  const retention = markers === null ? null : resolveRetention({ markers }, 'money')
  const guard = new HorizonGuard({ name: 'c', retention, identity: {} } as never, {
    clock: { nowMs: () => scene.clockMs },
    log: silent,
  })
  const horizon = async () => {
    scene.asked++
    const { purgedBeforeMs, keepMs } = scene
    return { purgedBeforeMs, keepMs, nowMs: startMs + scene.clockMs }
  }
  const session = { history: { horizon } }
  return Object.assign(scene, {
    /** Whether a message of this age is kept from being applied. */
    async parks(ageMs: number): Promise<boolean> {
      const timestampMs = startMs + scene.clockMs - ageMs
      const facts = new Map()
      const received = { delivery: { properties: { timestampMs }, place: null } }
      await guard.check([received as never], facts, session)
      return facts.size > 0
    },
  })
}

describe('the horizon guard', () => {
  test('checks a message whose marker may have been removed by a clock ahead within the tolerance', async () => {
    const scene = guarded('30d')
    assert.equal(await scene.parks(minute), false)
    scene.clockMs += 10_000
    scene.purgedBeforeMs = startMs - 30 * day + 55 * minute
    assert.equal(await scene.parks(30 * day - 30 * minute), true)
  })

  for (const own of ['30d', null]) {
    test(`learns of a term that another process shortened (own: ${own})`, async () => {
      const scene = guarded(own)
      assert.equal(await scene.parks(10 * day), false)
      scene.clockMs += minute
      scene.keepMs = 7 * day
      assert.equal(await scene.parks(minute), false)
      scene.clockMs += 10_000
      scene.purgedBeforeMs = startMs - 7 * day
      assert.equal(await scene.parks(10 * day), true)
    })

    test(`learns within a minute of an undeclared removal (own: ${own})`, async () => {
      const scene = guarded(own)
      assert.equal(await scene.parks(minute), false)
      scene.purgedBeforeMs = startMs - 7 * day
      scene.clockMs += minute
      assert.equal(await scene.parks(10 * day), true)
      assert.equal(await scene.parks(10 * day), true)
    })

    test(`queries once a minute while nothing is old (own: ${own})`, async () => {
      const scene = guarded(own)
      for (; scene.clockMs < 10 * minute; scene.clockMs += 1_000) await scene.parks(minute)
      assert.equal(scene.asked, 10)
    })
  }
})

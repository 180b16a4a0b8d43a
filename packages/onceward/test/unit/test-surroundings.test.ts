import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTestSurroundings } from 'onceward/testing'

test('time stands still until it is moved, and fires what falls due in order', async () => {
  const world = createTestSurroundings()
  const fired: string[] = []
  world.timers.after(20, () => fired.push(`b at ${world.clock.nowMs()}`))
  world.timers.after(10, () => {
    fired.push(`a at ${world.clock.nowMs()}`)
    world.timers.after(5, () => fired.push(`from a at ${world.clock.nowMs()}`))
  })
  const cancel = world.timers.after(12, () => fired.push('cancelled'))
  cancel()
  await world.turn()
  assert.deepEqual(fired, [])
  assert.deepEqual(world.due, [10, 20])
  await world.advance(30)
  assert.deepEqual(fired, ['a at 10', 'from a at 15', 'b at 20'])
  assert.equal(world.clock.nowMs(), 30)
})

test('it keeps what was logged, counted and reached', () => {
  const points: string[] = []
  const world = createTestSurroundings({ random: 0.25, reach: point => void points.push(point) })
  world.log.warn('careful', { n: 1 })
  world.metrics.add('outcomes', 3, { consumer: 'c', outcome: 'applied' })
  world.metrics.add('outcomes', 2, { consumer: 'c', outcome: 'applied' })
  world.reach('batch.claimed')
  assert.deepEqual(world.lines, [{ level: 'warn', message: 'careful', fields: { n: 1 } }])
  assert.equal(world.counted.get('outcomes applied'), 5)
  assert.deepEqual([points, world.reached], [['batch.claimed'], ['batch.claimed']])
  assert.equal(world.random(), 0.25)
})

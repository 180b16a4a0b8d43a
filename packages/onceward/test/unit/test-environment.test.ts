import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTestEnvironment } from 'onceward/testing'

test('time stands still until it is moved, and fires what falls due in order', async () => {
  const env = createTestEnvironment()
  const fired: string[] = []
  env.timers.after(20, () => fired.push(`b at ${env.clock.nowMs()}`))
  env.timers.after(10, () => {
    fired.push(`a at ${env.clock.nowMs()}`)
    env.timers.after(5, () => fired.push(`from a at ${env.clock.nowMs()}`))
  })
  const cancel = env.timers.after(12, () => fired.push('cancelled'))
  cancel()
  await env.turn()
  assert.deepEqual(fired, [])
  assert.deepEqual(env.due, [10, 20])
  await env.advance(30)
  assert.deepEqual(fired, ['a at 10', 'from a at 15', 'b at 20'])
  assert.equal(env.clock.nowMs(), 30)
})

test('it records logs, metrics and crash points', () => {
  const points: string[] = []
  const env = createTestEnvironment({ random: 0.25, reach: point => void points.push(point) })
  env.log.warn('careful', { n: 1 })
  env.metrics.add('outcomes', 3, { consumer: 'c', 'messaging.destination.name': 'q', outcome: 'applied' })
  env.metrics.add('outcomes', 2, { consumer: 'c', 'messaging.destination.name': 'q', outcome: 'applied' })
  env.reach('batch.claimed')
  assert.deepEqual(env.lines, [{ level: 'warn', message: 'careful', fields: { n: 1 } }])
  assert.equal(env.counted.get('outcomes applied'), 5)
  assert.deepEqual([points, env.reached], [['batch.claimed'], ['batch.claimed']])
  assert.equal(env.random(), 0.25)
})

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { defineConsumer, realEnvironment, runConsumer } from 'onceward'
import { createQueue, postgresQueue, publish } from 'onceward/postgres'
import { createTestEnvironment, until } from 'onceward/testing'
import { RetentionLoop } from '../../src/operations/retention/retention-loop.ts'
import { readRetention } from '../../src/telemetry/read-status.ts'
import { skipWithout } from '../services/services.ts'
import { type MemoryScene, memoryScene, purgeOptions } from './scene.ts'

const minute = 60_000

function loopOn(scene: MemoryScene, changes: Partial<ConstructorParameters<typeof RetentionLoop>[0]> = {}) {
  const env = createTestEnvironment()
  const { consumerId, clocks, ...options } = purgeOptions(scene, undefined, env)
  const loop = new RetentionLoop({
    ...options,
    clocks: { ...clocks, clock: realEnvironment().clock },
    consumerId: async () => consumerId,
    caughtUp: () => true,
    ...changes,
  })
  return { env, loop }
}

describe('the removal beside a consumer', await skipWithout('postgres'), () => {
  test('runs some time after the start and periodically, never at the start', async () => {
    await using scene = await memoryScene()
    const { env, loop } = loopOn(scene)
    await scene.markers('old-', 100, 40)
    await loop.start()
    assert.deepEqual(env.due, [10 * minute])
    await env.advance(10 * minute - 1)
    assert.equal(await scene.left(), 100)
    const { consumers } = await readRetention(scene.pool)
    assert.deepEqual(
      consumers.map(one => [one.kind, one.removed, one.lastEnded]),
      [
        'attempts',
        'businessKeys',
        'effects',
        'heldActions',
        'markers',
        'notes',
        'receipts',
        'suppressedEffects',
      ].map(kind => [kind, 0, null]),
    )
    await env.advance(1)
    await until('the pass is over', () => env.due.length === 1)
    assert.equal(await scene.left(), 0)
    assert.deepEqual(env.due, [60 * minute])

    await scene.markers('more-', 50, 40)
    await env.advance(60 * minute)
    await until('the next is over', () => env.due.length === 1)
    assert.equal(await scene.left(), 0)
    const after = (await readRetention(scene.pool)).consumers.find(one => one.kind === 'markers')!
    assert.deepEqual([after.removed, after.note], [150, null])
    assert.ok(after.next! > after.lastEnded!)
    await loop.drain()
  })

  test('waits until the consumer has caught up', async () => {
    await using scene = await memoryScene()
    let caughtUp = false
    const { env, loop } = loopOn(scene, { caughtUp: () => caughtUp })
    await scene.markers('old-', 10, 40)
    await loop.start()
    await env.advance(30 * minute)
    assert.ok(env.due.length === 1 && env.due[0]! <= 1_000, 'it only looks again')
    assert.equal(await scene.left(), 10)
    caughtUp = true
    await env.advance(1_000)
    await until('the pass is over', () => env.due[0] === 60 * minute)
    assert.equal(await scene.left(), 0)
    await loop.drain()
  })

  test('does not end the consumer when it fails: the error is logged, and the pass is retried', async () => {
    await using scene = await memoryScene()
    const { env, loop } = loopOn(scene, {
      clocks: { wallMs: () => Date.now() + 3 * 86_400_000, clock: realEnvironment().clock },
    })
    await scene.markers('old-', 10, 40)
    await loop.start()
    await env.advance(10 * minute)
    await until('the pass is over', () => env.due.length === 1)
    assert.equal(await scene.left(), 10)
    const said = env.lines.find(line => line.level === 'error')!
    assert.match(String(said.fields.error), /clock is 3d behind/)
    assert.match(
      (await readRetention(scene.pool)).consumers[0]!.note!,
      /Nothing of consumer remembering was removed/,
    )
    await loop.drain()
  })

  test('stops between two batches when the consumer leaves', async () => {
    await using scene = await memoryScene()
    const { env, loop } = loopOn(scene, { share: 0.1 })
    await scene.markers('old-', 20_000, 40)
    await loop.start()
    await env.advance(10 * minute)
    await until('it pauses', () => env.due.length === 1 && env.due[0]! < minute)
    await loop.drain()
    assert.deepEqual(env.due, [])
    const left = await scene.left()
    assert.ok(left > 0 && left < 20_000, String(left))
  })

  test('is a part of a running consumer, which removes markers and continues', async () => {
    await using scene = await memoryScene()
    await createQueue(scene.pool, 'q')
    await scene.markers('old-', 1_000, 40)
    const consumer = defineConsumer<{ id: string }>({
      name: 'remembering',
      owner: 'tests',
      risk: 'money',
      source: postgresQueue('q'),
      identity: { id: m => m.id },
      retention: { markers: '30d', sourceKeeps: '7d' },
      handle() {},
    })
    const running = await runConsumer(consumer, { databaseUrl: scene.url, retentionFirstMs: 50 })
    await publish(scene.pool, 'q', [{ body: '{"id":"new"}' }])
    await until('the old are gone', async () => (await scene.left('old-')) === 0)
    await until('the new is there', async () => (await scene.left('new')) === 1)
    await running.drain()
    await running.finished
  })

  test('is refused at start when it would remove markers too early, and nothing is started', async () => {
    await using scene = await memoryScene()
    const consumer = defineConsumer<{ id: string }>({
      name: 'remembering',
      owner: 'tests',
      risk: 'money',
      source: postgresQueue('q', { url: scene.url }),
      identity: { id: m => m.id },
      retention: { markers: '3d' },
      handle() {},
    })
    await assert.rejects(runConsumer(consumer, { databaseUrl: scene.url }), {
      code: 'retention_too_short',
      message: /after 3d.*keeps a message until it is settled.*sourceKeeps/s,
    })
    const { rows } = await scene.pool.query('select count(*)::int from onceward.run')
    assert.equal(rows[0].count, 0)
  })
})

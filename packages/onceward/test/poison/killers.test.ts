import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { serviceOf } from '../crash/brokers.ts'
import { skipWithout } from '../services/services.ts'
import { attemptsMax, restartsMax } from './poison-contract.ts'
import { openScene, type SceneOptions } from './scene.ts'

interface Case extends Omit<SceneOptions, 'killer'> {
  readonly name: string
  readonly neighbours: number
}

const cases: readonly Case[] = [
  { name: 'runs out of memory, on RabbitMQ', kind: 'rabbitmq', how: 'memory', neighbours: 10_000 },
  { name: 'exits, on a queue of PostgreSQL', kind: 'postgres', how: 'exit', neighbours: 10_000 },
  { name: 'aborts, on Kafka', kind: 'kafka', how: 'abort', neighbours: 10_000 },
  { name: 'exits, in stored work', kind: 'postgres', how: 'exit', stored: true, neighbours: 3_000 },
  { name: 'exits, on a stream', kind: 'rabbitmq-stream', how: 'exit', neighbours: 3_000 },
  { name: 'exits, in a file', kind: 'file', how: 'exit', neighbours: 3_000 },
]

for (const { name, neighbours, ...scene } of cases) {
  describe(`a message whose handler ${name}`, await skipWithout('postgres', serviceOf[scene.kind]), () => {
    test('is found within (attempts + log2 n + 1) restarts while thousands of other messages are applied once', {
      timeout: 300_000,
    }, async () => {
      const killer = 'pay-777'
      await using env = await openScene({ ...scene, killer })
      const ids = Array.from({ length: neighbours + 1 }, (_, n) => `pay-${n}`)
      await env.publish(ids)
      const done = async () =>
        (await env.held()).some(({ state }) => state === 'parked') && (await env.effects()).ids === neighbours
      const restarts = await env.restartUntil(done, restartsMax)
      assert.ok(restarts <= restartsMax)
      assert.deepEqual(await env.effects(), { ids: neighbours, times: neighbours })
      const [held, ...others] = await env.held()
      assert.deepEqual(others, [], 'nobody else is set aside')
      const { body, ...record } = held!
      assert.deepEqual(record, {
        id: killer,
        state: 'parked',
        class: 'poison',
        code: 'process_died',
        reason: `its process crashed ${attemptsMax} times`,
        attempts: attemptsMax,
      })
      assert.equal(String(body), JSON.stringify({ id: killer }))
      assert.deepEqual(
        await env.attempts(),
        Array.from({ length: attemptsMax }, (_, n) => ({ id: killer, number: n + 1, code: 'process_died' })),
        'neighbours are not blamed',
      )
    })
  })
}

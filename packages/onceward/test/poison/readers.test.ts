import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { serviceOf } from '../crash/brokers.ts'
import { skipWithout } from '../services/services.ts'
import { attemptsMax, restartsMax } from './poison-contract.ts'
import { openScene, type SceneOptions } from './scene.ts'

const neighbours = 200

const cases: readonly (Omit<SceneOptions, 'killer' | 'reading'> & { readonly name: string })[] = [
  { name: 'memory runs out, on RabbitMQ', kind: 'rabbitmq', how: 'memory' },
  { name: 'it exits, before it is stored', kind: 'postgres', how: 'exit', stored: true },
  { name: 'it aborts, on Kafka', kind: 'kafka', how: 'abort' },
]

for (const { name, ...scene } of cases) {
  describe(
    `reading a message, when ${name}: it`,
    await skipWithout('postgres', serviceOf[scene.kind]),
    () => {
      test('is found within (attempts + log2 n + 1) restarts', { timeout: 200_000 }, async () => {
        await using env = await openScene({ ...scene, killer: 'pay-77', reading: true })
        await env.publish(Array.from({ length: neighbours + 1 }, (_, n) => `pay-${n}`))
        const done = async () =>
          (await env.held()).some(({ state }) => state === 'parked') &&
          (await env.effects()).ids === neighbours
        const restarts = await env.restartUntil(done, restartsMax)
        assert.ok(restarts <= restartsMax)
        assert.deepEqual(await env.effects(), { ids: neighbours, times: neighbours })
        const [held, ...others] = await env.held()
        assert.deepEqual(others, [], 'nobody else is set aside')
        const { body, ...record } = held!
        assert.deepEqual(record, {
          id: null,
          state: 'parked',
          class: 'poison',
          code: 'process_died',
          reason: `its process crashed ${attemptsMax} times`,
          attempts: attemptsMax,
        })
        assert.equal(String(body), JSON.stringify({ id: 'pay-77' }))
        const attempts = await env.attempts()
        assert.equal(attempts.length, attemptsMax)
        assert.ok(
          attempts.every(({ id }) => id.startsWith(' bytes ')),
          'neighbours are not blamed',
        )
      })
    },
  )
}

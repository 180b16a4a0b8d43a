import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type ConsumerContract, defineConsumer, realEnvironment, runConsumer } from 'onceward'
import { createQueue, postgresQueue } from 'onceward/postgres'
import type { ExternalTarget } from '../../../src/contract/external-target.ts'
import { skipWithout } from '../../services/services.ts'
import { openScene } from '../scene.ts'

describe('a target that was renamed while intents wait for it', await skipWithout('postgres'), () => {
  it('is named at start, with the number that wait; completed ones are not counted', async () => {
    const scene = await openScene()
    const name = 'renamed'
    await createQueue(scene.pool, name)
    await scene.intend(name, ['a', 'b', 'done'], undefined, 'old_gateway')
    await scene.intend(name, ['c'], undefined, 'mail')
    await scene.pool.query(
      `update onceward.ledger set state = 'completed', due_at = 'infinity', completed_at = now() where effect_key in ('done', 'c')`,
    )
    const said: unknown[] = []
    const log = { debug() {}, info() {}, warn() {}, error: (...line: unknown[]) => void said.push(line) }
    const target: ExternalTarget = {
      kind: 'custom',
      policy: 'keyed',
      call: async () => ({ result: 'completed' }),
    }
    for (const external of [{ gateway: target }, undefined]) {
      const contract: ConsumerContract = {
        name,
        owner: 'unit',
        risk: 'low value',
        source: postgresQueue(name),
        identity: { id: () => 'm' },
        order: 'none',
        handle: async () => {},
        ...(external && { effect: { external } }),
      }
      const running = await runConsumer(defineConsumer(contract), {
        databaseUrl: scene.url,
        env: realEnvironment({ log }),
        parts: ['dispatcher'],
      })
      await running.drain()
      assert.equal(said.length, 1)
      const [text, facts] = said.pop() as [string, object]
      assert.match(text, /wait for a target that the contract does not declare/)
      assert.deepEqual(facts, { consumer: name, target: 'old_gateway', count: 2 })
    }
    await scene.close()
  })
})

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { describe, type TestContext, test } from 'node:test'
import { park } from 'onceward'
import { skipWithout } from '../services/services.ts'
import { type FactContract, Scene } from './scene.ts'

/** A target that honours keys, and which it was called with. */
async function openTarget(t: TestContext) {
  const keys: string[] = []
  const server = createServer((request, response) => {
    keys.push(String(request.headers['idempotency-key']))
    response.end('{}')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const { port } = server.address() as { port: number }
  return { keys, url: `http://127.0.0.1:${port}` }
}

function calling(url: string, statuses: (number | null)[]): Partial<FactContract> {
  return {
    effect: { external: { gateway: { kind: 'http', url, policy: 'keyed', allowPrivate: true } } },
    handle: async ({ message, effects }) => {
      const answer = await effects.call('gateway', { key: message.id, body: message })
      statuses.push(answer?.status ?? null)
      return undefined
    },
  }
}

async function approve(scene: Scene, id: string): Promise<void> {
  await scene.pool.query(`alter table onceward.campaign_approval disable trigger all`)
  await scene.pool.query(
    `insert into onceward.campaign_approval select id, plan_digest, requested_by, 'another', now(), now() + interval '1 hour', 'yes'
     from onceward.campaign where id = $1`,
    [id],
  )
}

describe('effects.call in a campaign', await skipWithout('postgres'), () => {
  for (const selection of [{ of: 'log', start: 'first', end: 'next' }, { of: 'parked' }] as const)
    test(`of ${selection.of}: calls where it is approved, under the key of the message`, async t => {
      const scene = await Scene.open(t)
      const { keys, url } = await openTarget(t)
      const statuses: (number | null)[] = []
      await scene.write({ id: 'a' })
      const contract = scene.contract(calling(url, statuses))
      if (selection.of === 'parked') await scene.live(scene.contract({ handle: () => park('not today') }))
      const replay = await scene.replay(contract)
      const id = await scene.planned(replay, { mode: 'backfill', effects: 'requested', selection })
      await approve(scene, id)
      assert.equal((await replay.run(id)).state, 'ran')
      assert.deepEqual([keys, statuses], [['a'], [200]])
      assert.deepEqual(await scene.outcomes(id), { applied: 1 })
    })

  test('makes none where effects are suppressed, and records the suppressed call', async t => {
    const scene = await Scene.open(t)
    const { keys, url } = await openTarget(t)
    const statuses: (number | null)[] = []
    await scene.write({ id: 'a' })
    const consumer = scene.contract(calling(url, statuses))
    await scene.passed(consumer)
    const replay = await scene.replay(consumer)
    const id = await scene.planned(replay, { mode: 'backfill' })
    await replay.run(id)
    assert.deepEqual([keys, statuses], [[], [null]])
    assert.deepEqual(await scene.rows('select kind, key from onceward.suppressed_effect'), [
      { kind: 'call', key: 'a' },
    ])
  })
})

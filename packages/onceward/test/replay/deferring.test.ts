import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { runConsumer } from 'onceward'
import { until } from 'onceward/testing'
import { replayAll } from '../parking/parked-scene.ts'
import { skipWithout } from '../services/services.ts'
import { archiveDead, buried, folderOf, parkingAll } from './archive-scene.ts'
import { type FactContract, factContract, Scene } from './scene.ts'

type Handle = NonNullable<FactContract['handle']>

/** As every fact of the scene, after so many failures that pass. */
function failing(times: number): { handle: Handle; tries: () => number } {
  let tries = 0
  const handle: Handle = async context => {
    tries++
    if (tries <= times) throw Object.assign(new Error('away'), { code: 'ECONNREFUSED' })
    await factContract('').handle!(context)
  }
  return { handle, tries: () => tries }
}

const attemptsMax = 3
const deferring = { failure: { mode: 'defer', attemptsMax, delayMs: 1, delayMaxMs: 1 } } as const
const stored = { ...deferring, inbox: { mode: 'stored' } } as const

const forgotten = async (scene: Scene) => {
  for (const table of ['effect', 'onceward.inbox', 'onceward.ledger', 'onceward.outbox'])
    await scene.pool.query(`delete from ${table}`)
}

/** One message that live does not have any more, where a campaign finds it. */
const places = {
  log: async (scene: Scene) => {
    await scene.write({ id: 'a' })
    await scene.live(scene.contract())
    await forgotten(scene)
    return { of: 'log', start: 'first', end: 'next' } as const
  },
  archive: async (scene: Scene) => {
    await buried(scene, { id: 'a' })
    await archiveDead(scene)
    return { of: 'archive', path: folderOf(scene) } as const
  },
  parked: async (scene: Scene) => {
    await scene.write({ id: 'a' })
    await scene.live(scene.contract({ handle: parkingAll }))
    return { of: 'parked' } as const
  },
}

/** The attempts that are on record then: the try that set a message aside counts. */
const spent: Record<keyof typeof places, number> = { log: 0, archive: 1, parked: 1 }

const asked = (scene: Scene) =>
  scene.rows('select effect_key as key from onceward.ledger union all select id::text from onceward.outbox')
const suppressedEffects = async (scene: Scene) =>
  (await scene.rows<{ kind: string }>('select kind from onceward.suppressed_effect order by 1')).map(
    one => one.kind,
  )

describe('a campaign of a consumer that defers', await skipWithout('postgres'), () => {
  for (const [place, prepare] of Object.entries(places))
    for (const [kind, changes] of Object.entries({ deferring, stored })) {
      test(`retries itself, in its mode, and leaves no work behind: ${place}, ${kind}`, async t => {
        const scene = await Scene.open(t)
        const selection = await prepare(scene)
        const left = attemptsMax - spent[place as keyof typeof places]
        const { handle, tries } = failing(left - 1)
        const replay = await scene.replay(scene.contract({ ...changes, handle }))
        const id = await scene.planned(replay, { selection })
        await replay.run(id)
        assert.equal(tries(), left)
        assert.deepEqual(await scene.outcomes(id), { applied: 1 })
        assert.deepEqual(await scene.rows('select id, times, mode from effect'), [
          { id: 'a', times: 1, mode: 'replay' },
        ])
        assert.deepEqual(await scene.rows('select from onceward.held'), [])
        assert.deepEqual(await asked(scene), [])
        assert.deepEqual(await suppressedEffects(scene), ['external', 'publish'])
      })

      test(`parks a message that keeps failing; released and deferred by a live worker, it still belongs to the campaign: ${place}, ${kind}`, async t => {
        const scene = await Scene.open(t)
        const selection = await prepare(scene)
        const replay = await scene.replay(scene.contract({ ...changes, handle: failing(99).handle }))
        const id = await scene.planned(replay, { selection })
        await replay.run(id)
        assert.deepEqual(await scene.outcomes(id), { parked: 1 })
        await scene.pool.query('delete from onceward.attempt')
        await replayAll(scene, 'facts', 'r')
        const { handle, tries } = failing(1)
        const worker = await runConsumer(scene.contract({ ...changes, handle }), {
          databaseUrl: scene.url,
          parts: ['worker'],
        })
        await until('it is done', async () => (await scene.rows('select from onceward.held')).length === 0)
        await worker.drain()
        assert.equal(tries(), 2)
        // Rows that were parked live before the campaign looked at them are live work.
        const mode = place === 'parked' ? 'live' : 'replay'
        assert.deepEqual(await scene.rows('select id, times, mode from effect'), [
          { id: 'a', times: 1, mode },
        ])
        assert.equal((await asked(scene)).length, mode === 'live' ? 2 : 0)
        assert.deepEqual(await suppressedEffects(scene), mode === 'live' ? [] : ['external', 'publish'])
      })
    }

  for (const [kind, changes] of Object.entries({ deferring, stored }))
    for (const how of ['campaign', 'redrive'] as const)
      test(`a parked message has the attempts left that it had, at least one: ${how}, ${kind}`, async t => {
        const scene = await Scene.open(t)
        const selection = await places.parked(scene)
        for (const left of [attemptsMax - spent.parked, 1, 1]) {
          const { handle, tries } = failing(99)
          const contract = scene.contract({ ...changes, handle })
          const isParked = async () =>
            (await scene.rows(`select from onceward.held where state = 'parked'`)).length === 1
          if (how === 'campaign') {
            const replay = await scene.replay(contract)
            await replay.run(await scene.planned(replay, { selection }))
          } else {
            await replayAll(scene, 'facts', `r-${left}-${Math.random()}`)
            const worker = await runConsumer(contract, { databaseUrl: scene.url, parts: ['worker'] })
            await until('it is parked again', async () => tries() > 0 && (await isParked()))
            await worker.drain()
          }
          assert.equal(tries(), left)
          assert.ok(await isParked())
        }
      })
})

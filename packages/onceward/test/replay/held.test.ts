import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { park, retryAfter, runConsumer } from 'onceward'
import { until } from 'onceward/testing'
import { cancelCampaign, verifyCampaign } from '../../src/replay/campaign/steer-campaign.ts'
import { replayAll } from '../parking/parked-scene.ts'
import { skipWithout } from '../services/services.ts'
import { type FactContract, factContract, Scene } from './scene.ts'

type Handle = NonNullable<FactContract['handle']>

/** The handler of all scenes, except for what `before` answers. */
const unless = (before: (id: string) => ReturnType<typeof park> | undefined): Handle =>
  (async context => {
    const verdict = before(context.message.id)
    return verdict ?? factContract('').handle!(context)
  }) as Handle

const inOrder = {
  order: 'key' as const,
  identity: { id: (fact: { id: string }) => fact.id, orderKey: (fact: { key?: string }) => fact.key },
}

/** The worker of the live consumer; drained before its database goes. */
async function startWorker(scene: Scene, changes: Partial<FactContract> = {}) {
  const running = await runConsumer(scene.contract(changes), { databaseUrl: scene.url, parts: ['worker'] })
  return { [Symbol.asyncDispose]: () => running.drain() }
}

const order = 'select id, times from effect order by xmin::text::bigint'

describe('held work and campaigns', await skipWithout('postgres'), () => {
  test('a message that a campaign parked and an operator redrives is applied by a live worker', async t => {
    const scene = await Scene.open(t)
    await scene.write({ id: 'a' }, { id: 'b' })
    await scene.live(scene.contract({ handle: unless(id => (id === 'b' ? park('not today') : undefined)) }))
    await scene.pool.query(`delete from onceward.held; delete from onceward.inbox where message_id = 'b'`)
    const replay = await scene.replay(scene.contract({ handle: unless(() => park('in the campaign')) }))
    const id = await scene.planned(replay)
    await replay.run(id)
    assert.deepEqual(await scene.outcomes(id), { duplicate: 1, parked: 1 })
    await replayAll(scene, 'facts', 'r')
    await using _worker = await startWorker(scene)
    await until('it is applied', async () => (await scene.rows('select from effect')).length === 2)
    assert.deepEqual(await scene.rows('select from onceward.held'), [])
  })

  test('a campaign does not overtake live deferred messages', async t => {
    const scene = await Scene.open(t)
    const failure = { mode: 'defer' as const, attemptsMax: 50 }
    let away = true
    const handle = unless(id => (id === 'k1' && away ? retryAfter(20) : undefined))
    await scene.write({ id: 'k1', key: 'k' })
    await scene.live(scene.contract({ ...inOrder, failure, handle }))
    assert.deepEqual(await scene.rows('select state::text from onceward.held'), [{ state: 'stored' }])
    await scene.write({ id: 'k2', key: 'k' })
    await scene.passed(scene.contract())
    const replay = await scene.replay(scene.contract({ ...inOrder, failure, handle }))
    const id = await scene.planned(replay)
    const ran = replay.run(id)
    await until(
      'the campaign came to it',
      async () =>
        Object.keys(await scene.outcomes(id)).length > 0 ||
        (await scene.rows('select from effect')).length > 0,
    )
    away = false
    await using _worker = await startWorker(scene, { ...inOrder, failure, handle })
    await ran
    await until('both are applied', async () => (await scene.rows('select from effect')).length === 2)
    assert.deepEqual(await scene.rows(order), [
      { id: 'k1', times: 1 },
      { id: 'k2', times: 1 },
    ])
  })

  test('a campaign that waits for missing workers ends with the remedy', async t => {
    const scene = await Scene.open(t)
    const changes = {
      ...inOrder,
      failure: { mode: 'defer' as const, attemptsMax: 50 },
      handle: unless(id => (id === 'k1' ? retryAfter(3_600_000) : undefined)),
    }
    await scene.write({ id: 'k1', key: 'k' })
    await scene.live(scene.contract(changes))
    await scene.write({ id: 'k2', key: 'k' })
    await scene.passed(scene.contract())
    const replay = await scene.replay(scene.contract(changes), { waitMaxMs: 200 })
    const id = await scene.planned(replay)
    await assert.rejects(replay.run(id), /no process of facts is running.*replay resume/)
    assert.deepEqual(await scene.rows('select state from onceward.campaign'), [{ state: 'failed' }])
    await scene.pool.query('update onceward.held set due_at = clock_timestamp()')
    await using _worker = await startWorker(scene, { ...inOrder, failure: changes.failure })
    await replay.run(id)
    await until('both are applied', async () => (await scene.rows('select from effect')).length === 2)
    assert.deepEqual(await scene.rows(order), [
      { id: 'k1', times: 1 },
      { id: 'k2', times: 1 },
    ])
  })

  test('a generation that a rebuild has used cannot run live: its markers would hide everything', async t => {
    const scene = await Scene.open(t)
    await scene.write({ id: 'a' })
    await scene.live(scene.contract())
    const replay = await scene.replay(scene.contract())
    const id = await scene.planned(replay, { mode: 'rebuild' })
    await replay.run(id)
    await cancelCampaign(scene.pool, id, 'not needed')
    await assert.rejects(
      scene.live(scene.contract({ generation: 2 })),
      /rebuild campaign .* Use generation 3/s,
    )
    await scene.live(scene.contract({ generation: 3 }))
    assert.deepEqual(await scene.rows('select id, times from effect'), [{ id: 'a', times: 2 }])
  })

  test('of a consumer without external effects: a message that a rebuild has applied is no longer held, and its key continues; a rollback restores it', async t => {
    const scene = await Scene.open(t)
    const handle: Handle = async ({ message, tx, mode }) => {
      await tx.query('insert into effect (id, mode) values ($1, $2)', [message.id, mode])
    }
    const silent = { ...inOrder, effect: {}, handle }
    const bad = scene.contract({
      ...silent,
      handle: async context => (context.message.id === 'k1' ? park('not today') : handle(context)),
    })
    await scene.write({ id: 'a', key: 'a' }, { id: 'k1', key: 'k' }, { id: 'k2', key: 'k' })
    await scene.live(bad)
    const before = await scene.rows(everything)
    const replay = await scene.replay(scene.contract(silent))
    const id = await scene.planned(replay, { mode: 'rebuild' })
    await replay.run(id)
    await verifyCampaign(scene.pool, id)
    await assert.rejects(replay.swap(id), /2 only rebuilt/)
    await replay.swap(id, { accept: { effect: 'k1 and k2 were parked' } })
    assert.deepEqual(await scene.rows('select from onceward.held'), [])
    assert.deepEqual(await scene.rows(`select closed_as as how, reason from onceward.closed_held`), [
      { how: 'rebuilt', reason: `campaign ${id}` },
      { how: 'rebuilt', reason: `campaign ${id}` },
    ])
    await scene.write({ id: 'k3', key: 'k' })
    await scene.live(scene.contract(silent))
    const once = ['a', 'k1', 'k2', 'k3'].map(id => ({ id, times: 1 }))
    assert.deepEqual(await scene.rows('select id, times from effect order by id'), once)
    await replay.rollBack(id)
    assert.deepEqual(await scene.rows(everything), before)
    await replayAll(scene, 'facts', 'r')
    await using _worker = await startWorker(scene, silent)
    await until('they are applied', async () => (await scene.rows('select from effect')).length === 3)
    assert.deepEqual(await scene.rows('select id, times from effect order by id'), once.slice(0, 3))
  })
})

/** What the live consumer holds, blocks and remembers. */
const everything = `
  select (select jsonb_agg(to_jsonb(h) - 'lease_until' order by h.id) from onceward.held h) as held,
    (select jsonb_agg(jsonb_build_array(message_id, status, digest) order by message_id) from onceward.inbox where consumer_id = 1) as markers,
    (select jsonb_agg(jsonb_build_array(key, state)) from onceward.blocked_key) as blocked`

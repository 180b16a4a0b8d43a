import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { describe, test } from 'node:test'
import { park, realEnvironment, reject, runConsumer } from 'onceward'
import { type CrashPoint, until } from 'onceward/testing'
import { fixPayload } from '../../src/operations/parking/fix-parked.ts'
import { previewParked } from '../../src/operations/parking/preview-parked.ts'
import { skipParked } from '../../src/operations/parking/skip-parked.ts'
import {
  campaignFindings,
  cancelCampaign,
  finishCampaign,
  verifyCampaign,
} from '../../src/replay/campaign/steer-campaign.ts'
import { replayAll } from '../parking/parked-scene.ts'
import { skipWithout } from '../services/services.ts'
import { endLease, runChild } from './kill.ts'
import { type FactContract, factContract, Scene } from './scene.ts'

type Handle = NonNullable<FactContract['handle']>

const refusing = (...ids: readonly string[]): Handle =>
  (async context =>
    ids.includes(context.message.id) ? park('not today') : factContract('').handle!(context)) as Handle

const inOrder = {
  order: 'key' as const,
  identity: { id: (fact: { id: string }) => fact.id, orderKey: (fact: { key?: string }) => fact.key },
}

const selection = { of: 'parked' as const }
const keyed = (key: string, count: number) =>
  Array.from({ length: count }, (_, index) => ({ id: `${key}${index + 1}`, key }))
const order = 'select id, times, mode from effect order by xmin::text::bigint, id'
const once = (mode: string, ...ids: readonly string[]) => ids.map(id => ({ id, times: 1, mode }))

/** A scene in which these are parked, and what comes after them under their key waits behind. */
async function parkedScene(t: Parameters<typeof Scene.open>[0], ...bad: readonly string[]): Promise<Scene> {
  const scene = await Scene.open(t)
  await scene.write(...keyed('k', 3), ...keyed('j', 2))
  await scene.live(scene.contract({ ...inOrder, handle: refusing(...bad) }))
  return scene
}

describe('a campaign on parked messages', await skipWithout('postgres'), () => {
  test('applies parked messages in order, records suppressed effects, and releases the key', async t => {
    const scene = await parkedScene(t, 'k1')
    const replay = await scene.replay(scene.contract(inOrder))
    const id = await scene.planned(replay, { selection })
    await scene.write({ id: 'k4', key: 'k' })
    await scene.live(scene.contract(inOrder))
    assert.equal((await replay.run(id)).state, 'ran')
    assert.deepEqual(await scene.outcomes(id), { applied: 3 })
    await using _worker = await startWorker(scene)
    await until('k4 came behind it and goes on', async () => (await scene.rows(order)).length === 6)
    assert.deepEqual((await scene.rows(order)).slice(2), [
      ...once('replay', 'k1', 'k2', 'k3'),
      ...once('live', 'k4'),
    ])
    assert.deepEqual(await scene.rows('select from onceward.held'), [])
    assert.deepEqual(await scene.rows('select count(*)::int as n from onceward.suppressed_effect'), [
      { n: 6 },
    ])
    const { complete, progress } = await verifyCampaign(scene.pool, id)
    assert.deepEqual([complete, progress.done, progress.extent], [true, 3, 3])
    assert.equal((await finishCampaign(scene.pool, id)).state, 'finished')
  })

  test('takes no row that was added after its rows were approved', async t => {
    const scene = await parkedScene(t, 'k1', 'j1')
    const replay = await scene.replay(scene.contract(inOrder))
    const id = await scene.planned(replay, { selection: { ...selection, keys: ['k'] } })
    await scene.pool.query(`update onceward.campaign set state = 'running' where id = $1`, [id])
    await assert.rejects(
      scene.pool.query(
        `insert into onceward.campaign_row (campaign_id, held_id, row_version)
         select $1, h.id, onceward.row_version(h) from onceward.held h where h.order_key = 'j'`,
        [id],
      ),
      /is running: its rows are fixed/,
    )
  })

  test('applies one of two dead letters of one business key, and leaves the other', async t => {
    const scene = await Scene.open(t)
    const once = { identity: { id: (fact: { id: string }) => fact.id, businessKey: () => 'order-1' } }
    const rejecting = scene.contract({ ...once, handle: () => reject('wrong') })
    for (const id of ['one', 'two']) {
      await scene.write({ id })
      await scene.live(rejecting)
    }
    const replay = await scene.replay(scene.contract(once))
    const id = await scene.planned(replay, { selection })
    assert.equal((await replay.run(id)).state, 'ran')
    assert.deepEqual(await scene.outcomes(id), { applied: 1, left: 1 })
    // Without an order either may come first.
    assert.deepEqual(await scene.rows('select times from effect'), [{ times: 1 }])
  })

  test('of a cause takes only the heads, and messages behind them continue live', async t => {
    const scene = await parkedScene(t, 'k1')
    const [head] = (await previewParked(scene.pool, { consumer: 'facts', countMax: 10 })).rows
    const replay = await scene.replay(scene.contract(inOrder))
    const id = await scene.planned(replay, { selection: { ...selection, cause: head!.cause } })
    await replay.run(id)
    assert.deepEqual(await scene.outcomes(id), { applied: 1 })
    await using _worker = await startWorker(scene)
    await until('the others follow', async () => (await scene.rows(order)).length === 5)
    assert.deepEqual((await scene.rows(order)).slice(2), [
      ...once('replay', 'k1'),
      ...once('live', 'k2', 'k3'),
    ])
  })

  test('of keys does not affect other keys', async t => {
    const scene = await parkedScene(t, 'k1', 'j1')
    const replay = await scene.replay(scene.contract(inOrder))
    const id = await scene.planned(replay, { selection: { ...selection, keys: ['j'] } })
    await replay.run(id)
    assert.deepEqual(await scene.rows(order), once('replay', 'j1', 'j2'))
    assert.deepEqual(await scene.rows('select key from onceward.blocked_key where state = $1', 'parked'), [
      { key: 'k' },
    ])
  })

  test('a message that fails again keeps its id and its place, and those behind it stay behind', async t => {
    const scene = await parkedScene(t, 'k1')
    const before = await scene.rows('select id, message_id, first_at from onceward.held order by id')
    const replay = await scene.replay(scene.contract({ ...inOrder, handle: refusing('k1') }))
    const id = await scene.planned(replay, { selection })
    await replay.run(id)
    assert.deepEqual(
      await scene.rows('select id, message_id, first_at from onceward.held order by id'),
      before,
    )
    assert.deepEqual(await scene.rows('select key, state, waiting from onceward.blocked_key'), [
      { key: 'k', state: 'parked', waiting: 2 },
    ])
    assert.deepEqual(await scene.outcomes(id), { left: 2, parked: 1 })
    assert.equal((await verifyCampaign(scene.pool, id)).held, 1)
    await replayAll(scene, 'facts', 'r')
    await using _worker = await startWorker(scene)
    await until('they are applied', async () => (await scene.rows(order)).length === 5)
    assert.deepEqual((await scene.rows(order)).slice(2), once('live', 'k1', 'k2', 'k3'))
  })

  test('a concurrent redrive of the same rows: one effect each', async t => {
    const scene = await parkedScene(t, 'k1', 'j1')
    const claimed = Promise.withResolvers<void>()
    const moved = Promise.withResolvers<void>()
    let late = false
    const slow = (async context => {
      // The campaign has claimed both keys and is about to commit the first; the operator comes in between.
      if (!late) {
        late = true
        claimed.resolve()
        await moved.promise
      }
      return factContract('').handle!(context)
    }) as Handle
    const contract = {
      ...inOrder,
      handle: slow,
      batch: { sizeMax: 1, deliveriesMax: 10 },
      inbox: { workers: 1 },
    }
    const replay = await scene.replay(scene.contract(contract))
    const id = await scene.planned(replay, { selection })
    const ran = replay.run(id)
    await claimed.promise
    const brought = replayAll(scene, 'facts', 'r')
    await until(
      'the operator waits for the key',
      async () =>
        (
          await scene.rows(
            `select from pg_stat_activity where wait_event_type = 'Lock' and query like '%redrive_stage%' and datname = current_database()`,
          )
        ).length > 0,
    )
    moved.resolve()
    await Promise.all([ran, brought])
    await using _worker = await startWorker(scene)
    await until('all are applied', async () => (await scene.rows(order)).length === 5)
    const effects = await scene.rows<{ id: string; times: number; mode: string }>(order)
    assert.ok(effects.every(({ times }) => times === 1))
    assert.equal(effects.filter(({ mode }) => mode === 'replay').length, 1)
    for (const key of ['k', 'j'])
      assert.deepEqual(
        effects.filter(one => one.id.startsWith(key)).map(one => one.id),
        keyed(key, key === 'k' ? 3 : 2).map(one => one.id),
      )
    assert.equal((await verifyCampaign(scene.pool, id)).complete, true)
  })

  test('leaves rows that were fixed or skipped since the selection, and reports them', async t => {
    const scene = await parkedScene(t, 'k1', 'j1')
    const consumer = scene.contract(inOrder)
    const replay = await scene.replay(consumer)
    const id = await scene.planned(replay, { selection })
    const { rows } = await previewParked(scene.pool, { consumer: 'facts', countMax: 10 })
    const number = (message: string) => rows.find(row => row.messageId === message)!.id
    const body = Buffer.from(JSON.stringify({ id: 'k1', key: 'k', mended: true }))
    await fixPayload(scene.pool, consumer, { id: number('k1'), body, because: 'mended' })
    const { digest } = await previewParked(scene.pool, {
      consumer: 'facts',
      ids: [number('j1')],
      countMax: 1,
    })
    await skipParked(scene.pool, { consumer: 'facts', ids: [number('j1')], digest, because: 'not ours' })
    await replay.run(id)
    assert.deepEqual(await scene.outcomes(id), { left: 5 })
    const reasons = (await campaignFindings(scene.pool, id, 10)).map(one => [one.messageId, one.reason])
    assert.deepEqual(reasons, [
      ['j2', 'is already being processed'],
      ['k1', 'was changed after it was selected'],
      ['k2', `waits behind row ${number('k1')}`],
      ['k3', `waits behind row ${number('k1')}`],
      [`row ${number('j1')}`, 'is done, or another operator decided it'],
    ])
  })

  test('cancelled midway it leaves no key without a head', async t => {
    const scene = await parkedScene(t, 'k1')
    const stopping = new AbortController()
    const handle = (async context => {
      stopping.abort()
      return factContract('').handle!(context)
    }) as Handle
    const contract = { ...inOrder, handle, batch: { sizeMax: 1, deliveriesMax: 1 }, inbox: { workers: 1 } }
    const replay = await scene.replay(scene.contract(contract))
    const id = await scene.planned(replay, { selection, rateMax: 1 })
    assert.equal((await replay.run(id, { signal: stopping.signal })).state, 'paused')
    assert.deepEqual(await scene.outcomes(id), { applied: 1 })
    await cancelCampaign(scene.pool, id, 'not needed')
    await using _worker = await startWorker(scene)
    await until('the others go on', async () => (await scene.rows(order)).length === 5)
    assert.deepEqual((await scene.rows(order)).slice(2), [
      ...once('replay', 'k1'),
      ...once('live', 'k2', 'k3'),
    ])
  })

  test('applies exactly the rows of its plan: the database refuses others', async t => {
    const scene = await parkedScene(t, 'k1', 'j1')
    const replay = await scene.replay(scene.contract(inOrder))
    const id = await scene.planned(replay, { selection: { ...selection, keys: ['j'] } })
    await scene.pool.query(
      `insert into onceward.campaign_row select $1, h.id, onceward.row_version(h) from onceward.held h where order_key = 'k'`,
      [id],
    )
    await assert.rejects(replay.run(id), /differ from its plan/)
    await assert.rejects(replay.create({ mode: 'forensic', selection, reason: 'a test' }), /only reads/)
    await assert.rejects(
      replay.create({ mode: 'replay', selection: { ...selection, cause: 'x' }, reason: 'a test' }),
      /12 hexadecimal/,
    )
  })

  for (const point of ['work.leased', 'replay.journaled'] as CrashPoint[]) {
    test(`killed at ${point} it is resumed and ends exact`, async t => {
      const scene = await Scene.open(t)
      await scene.write(...keyed('k', 20))
      await scene.live(scene.contract({ handle: refusing(...keyed('k', 20).map(({ id }) => id)) }))
      const replay = await scene.replay(scene.contract())
      const id = await scene.planned(replay, { selection })
      const witness = `${scene.path}.witness`
      const orders = { databaseUrl: scene.url, path: scene.path, id, step: 'run' } as const
      assert.equal(await runChild({ ...orders, dieAt: { point, hit: 2, witness } }), 'SIGKILL')
      assert.ok(existsSync(witness))
      await endLease(scene)
      assert.equal(await runChild({ ...orders, dieAt: null }), 0)
      assert.deepEqual(await scene.outcomes(id), { applied: 20 })
      assert.deepEqual(await scene.rows('select count(*)::int as n, max(times) as most from effect'), [
        { n: 20, most: 1 },
      ])
    })
  }
})

/** The worker of the live consumer; drained before its database goes. */
async function startWorker(scene: Scene) {
  const running = await runConsumer(scene.contract(inOrder), {
    databaseUrl: scene.url,
    parts: ['worker'],
    env: realEnvironment(),
  })
  return { [Symbol.asyncDispose]: () => running.drain() }
}

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ignore, park, reject, runConsumer } from 'onceward'
import { until } from 'onceward/testing'
import { verifyCampaign } from '../../src/replay/campaign/steer-campaign.ts'
import { replayAll } from '../parking/parked-scene.ts'
import { skipWithout } from '../services/services.ts'
import { type FactContract, Scene } from './scene.ts'

type Handle = NonNullable<FactContract['handle']>
type Say = 'park' | 'ignore' | 'apply'

/**
 * `key` is the business key; what "a" does is said, all others are applied. Nothing but the table is changed:
 * a swap need not wait for live.
 */
const saying = (say: Say): Partial<FactContract> => ({
  identity: { id: fact => fact.id, businessKey: fact => fact.key },
  effect: {},
  handle: (async ({ message, tx, mode }) => {
    if (message.id === 'a' && say === 'park') return park('a person decides')
    if (message.id === 'a' && say === 'ignore') return ignore('nothing to do')
    await tx.query(
      'insert into effect (id, mode) values ($1, $2) on conflict (id) do update set times = effect.times + 1',
      [message.id, mode],
    )
  }) as Handle,
})
const a = { id: 'a', key: 'cap-1' }
const b = { id: 'b', key: 'cap-1' }
type Paid = { readonly id: string; readonly key: string; readonly amount: number }
const paid = (id: string, amount: number): Paid => ({ id, key: 'cap-1', amount })
const digested = (say: Say): Partial<FactContract> => ({
  ...saying(say),
  identity: {
    id: fact => fact.id,
    businessKey: fact => fact.key,
    businessDigest: fact => (fact as Paid).amount,
  },
})

const markers = (scene: Scene) =>
  scene.rows<{ marker: string }>(
    `select message_id || ' ' || status as marker from onceward.inbox
     where consumer_id = (select min(id) from onceward.consumer) order by 1`,
  )
const marked = (scene: Scene, ...wanted: readonly string[]) =>
  until(
    `markers are ${wanted.join(', ')}`,
    async () => (await markers(scene)).map(row => row.marker).join() === wanted.join(),
    { deadlineMs: 30_000 },
  )
const effects = (scene: Scene) => scene.rows('select id, times, mode from effect order by id')

async function startWorker(scene: Scene, changes: Partial<FactContract>) {
  const running = await runConsumer(scene.contract(changes), { databaseUrl: scene.url, parts: ['worker'] })
  return { [Symbol.asyncDispose]: () => running.drain() }
}

async function swapped(scene: Scene, changes: Partial<FactContract>) {
  const replay = await scene.replay(scene.contract(changes))
  const id = await scene.planned(replay, { mode: 'rebuild' })
  await replay.run(id)
  await verifyCampaign(scene.pool, id)
  const { closed } = await replay.swap(id, { accept: { effect: 'it was parked' } })
  return { closed, rollBack: () => replay.rollBack(id) }
}

/** Live has parked "a", and "b" waits for its business key. */
async function waiting(t: Parameters<typeof Scene.open>[0]): Promise<Scene> {
  const scene = await Scene.open(t)
  await scene.write(a)
  await scene.live(scene.contract(saying('park')))
  await scene.write(b)
  await scene.live(scene.contract(saying('park')))
  await marked(scene, 'a parked', 'b parked')
  return scene
}

describe('campaigns and messages that wait for a business key', await skipWithout('postgres'), () => {
  const ofA = { of: 'parked' as const, keys: ['a'] }
  for (const [say, mine, ended, effect] of [
    ['apply', 'applied', ['a applied', 'b duplicate'], { id: 'a', times: 1, mode: 'replay' }],
    ['ignore', 'ignored', ['a ignored', 'b applied'], { id: 'b', times: 1, mode: 'live' }],
  ] as const) {
    test(`a waiting message continues when a campaign on parked rows ends the holder (${mine})`, async t => {
      const scene = await waiting(t)
      const replay = await scene.replay(scene.contract(saying(say)))
      const id = await scene.planned(replay, { selection: ofA })
      await replay.run(id)
      assert.deepEqual(await scene.outcomes(id), { [mine]: 1 })
      await using _worker = await startWorker(scene, saying(say))
      await marked(scene, ...ended)
      assert.deepEqual(await effects(scene), [effect])
    })
  }

  test('a campaign on both applies one and finds the other a duplicate', async t => {
    const scene = await waiting(t)
    const replay = await scene.replay(scene.contract(saying('apply')))
    const id = await scene.planned(replay, { selection: { of: 'parked' } })
    await replay.run(id)
    await using _worker = await startWorker(scene, saying('apply'))
    await marked(scene, 'a applied', 'b duplicate')
    assert.deepEqual(await effects(scene), [{ id: 'a', times: 1, mode: 'replay' }])
  })

  for (const mode of ['replay', 'backfill', 'repair'] as const) {
    test(`a ${mode} of the log that parks a message keeps its resend behind it`, async t => {
      const scene = await Scene.open(t)
      await scene.write(a, b)
      const replay = await scene.replay(scene.contract(saying('park')))
      const log = { of: 'log', start: 'first', end: 'next' } as const
      const selection = mode === 'repair' ? { ...log, keys: ['cap-1'] } : log
      const id = await scene.planned(replay, { mode, selection })
      await replay.run(id)
      assert.deepEqual(await scene.outcomes(id), { parked: 2 })
      const { rows } = await scene.pool.query(`select id::text from onceward.held where message_id = 'a'`)
      await replayAll(scene, 'facts', 'r', { ids: [rows[0].id] })
      await using _worker = await startWorker(scene, saying('ignore'))
      await marked(scene, 'a ignored', 'b applied')
      assert.deepEqual(await effects(scene), [{ id: 'b', times: 1, mode }])
    })
  }

  test('a rebuild that applied the resend closes both, and a rollback brings both back', async t => {
    const scene = await waiting(t)
    const replay = await scene.replay(scene.contract(saying('ignore')))
    const id = await scene.planned(replay, { mode: 'rebuild' })
    await replay.run(id)
    await verifyCampaign(scene.pool, id)
    const swap = await replay.swap(id, { accept: { effect: 'it was parked' } })
    assert.equal(swap.closed, 2)
    await marked(scene, 'a duplicate', 'b applied')
    assert.deepEqual(await effects(scene), [{ id: 'b', times: 1, mode: 'rebuild' }])
    await replay.rollBack(id)
    await marked(scene, 'a parked', 'b parked')
    const held = 'select message_id, keyless from onceward.held order by id'
    assert.deepEqual(await scene.rows(held), [
      { message_id: 'a', keyless: false },
      { message_id: 'b', keyless: true },
    ])
    const key =
      'select message_id from onceward.business_key where consumer_id = (select min(id) from onceward.consumer)'
    assert.deepEqual(await scene.rows(key), [{ message_id: 'a' }])
  })

  for (const [say, other] of [
    ['apply', 'itself'],
    ['ignore', 'its resend'],
  ] as const)
    test(`a rollback of tables with the effect of ${other} keeps the content of the key`, async t => {
      const scene = await Scene.open(t)
      await scene.write(paid('a', 5))
      await scene.live(scene.contract(digested('park')))
      if (say === 'ignore') await scene.write(paid('b', 5))
      const { closed, rollBack } = await swapped(scene, digested(say))
      assert.equal(closed, 1)
      await rollBack()
      await marked(scene, 'a parked')
      const { rows } = await scene.pool.query('select id::text from onceward.held')
      await replayAll(scene, 'facts', 'r', { ids: [rows[0].id] })
      await using _worker = await startWorker(scene, digested('apply'))
      await marked(scene, 'a applied')
      await scene.live(scene.contract(digested('apply')))
      await scene.write(paid('c', 6))
      await scene.live(scene.contract(digested('apply')))
      assert.equal((await markers(scene)).at(-1)!.marker, 'c quarantined')
    })

  for (const held of ['parked', 'stored'] as const)
    test(`a holder (${held}) with other content than the rebuilt tables is quarantined, and not applied`, async t => {
      const scene = await Scene.open(t)
      await scene.write(paid('a', 5))
      await scene.live(scene.contract(digested('park')))
      if (held === 'stored') await replayAll(scene, 'facts', 'r')
      await scene.write(paid('b', 6))
      assert.equal((await swapped(scene, digested('ignore'))).closed, 0)
      await using _worker = await startWorker(scene, digested('apply'))
      await marked(scene, 'a quarantined', 'b applied')
      assert.deepEqual(await effects(scene), [{ id: 'b', times: 1, mode: 'rebuild' }])
    })

  test('a message that waited keeps the content of its key when a campaign on parked rows applies it', async t => {
    const scene = await Scene.open(t)
    await scene.write(paid('a', 5))
    await scene.live(scene.contract(digested('park')))
    await scene.write(paid('b', 5))
    await scene.live(scene.contract(digested('park')))
    await marked(scene, 'a parked', 'b parked')
    // As after a holder whose marker and key retention removed: nobody has told the one that waits.
    await scene.pool.query(`delete from onceward.held where message_id = 'a'`)
    await scene.pool.query(`delete from onceward.inbox where message_id = 'a'`)
    await scene.pool.query('delete from onceward.business_key')
    const replay = await scene.replay(scene.contract(digested('apply')))
    const id = await scene.planned(replay, { selection: { of: 'parked' } })
    await replay.run(id)
    assert.deepEqual(await scene.outcomes(id), { applied: 1 })
    await scene.write(paid('c', 6))
    await scene.live(scene.contract(digested('apply')))
    await marked(scene, 'b applied', 'c quarantined')
  })

  test('a dead letter that is released has its key with the content', async t => {
    const scene = await Scene.open(t)
    await scene.write(paid('a', 5))
    await scene.live(
      scene.contract({ ...digested('apply'), handle: (async () => reject('no such account')) as Handle }),
    )
    const { rows } = await scene.pool.query('select id::text, state::text from onceward.held')
    assert.equal(rows[0].state, 'dead')
    await replayAll(scene, 'facts', 'r', { ids: [rows[0].id] })
    await using _worker = await startWorker(scene, digested('apply'))
    await marked(scene, 'a applied')
    await scene.write(paid('c', 6))
    await scene.live(scene.contract(digested('apply')))
    await marked(scene, 'a applied', 'c quarantined')
  })
})

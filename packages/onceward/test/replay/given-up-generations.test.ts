import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  type ConsumerContract,
  defineConsumer,
  park,
  projection,
  runConsumer,
  type SqlTransaction,
} from 'onceward'
import { file } from 'onceward/file'
import { until } from 'onceward/testing'
import { previewParked } from '../../src/operations/parking/preview-parked.ts'
import { skipParked } from '../../src/operations/parking/skip-parked.ts'
import { approveCampaign, cancelCampaign, verifyCampaign } from '../../src/replay/campaign/steer-campaign.ts'
import { People } from '../parking/people.ts'
import { skipWithout } from '../services/services.ts'
import { type Fact, type FactContract, Scene } from './scene.ts'

const history: Fact[] = ['a1', 'a2', 'a3'].map(id => ({ id, key: 'a' }))

/** The handler of the scene, but a2 waits for people. */
function careful(scene: Scene, changes: Partial<FactContract> = {}) {
  const usual = scene.contract().handle!
  return scene.contract({
    handle: context => (context.message.id === 'a2' ? park('looks like fraud') : usual(context)),
    ...changes,
  })
}

async function skip(scene: Scene): Promise<void> {
  const { rows, digest } = await previewParked(scene.pool, { consumer: 'facts', countMax: 10 })
  const ids = rows.map(row => row.id)
  await skipParked(scene.pool, { consumer: 'facts', ids, digest, because: 'fraud: never journal this' })
}

/** Generation 1 has parked a2, a person has given it up, and the tables are to be filled anew. */
async function givenUp(scene: Scene): Promise<void> {
  await scene.write(...history)
  await scene.live(careful(scene))
  await skip(scene)
  await scene.pool.query('delete from effect')
}

const booked = async (scene: Scene) =>
  (await scene.rows<{ id: string; times: number }>('select id, times from effect order by id')).map(
    row => `${row.id} ${row.times}`,
  )
const markers = (scene: Scene, generation: number) =>
  scene.rows(
    `select message_id as id, status::text, i.reason as because from onceward.inbox i join onceward.consumer c on c.id = i.consumer_id
     where generation = $1 order by 1`,
    generation,
  )
const second = { generation: 2 } as const
const log = { of: 'log', start: 'first', end: 'next' } as const

describe('messages given up under another generation', await skipWithout('postgres'), () => {
  for (const inbox of ['transactional', 'stored'] as const)
    test(`is ignored by a new live one (${inbox}), whose marker says who decided`, async t => {
      const scene = await Scene.open(t)
      await givenUp(scene)
      // A file that is read to its end ends the worker too, perhaps before it has leased what was stored.
      const consumer = scene.contract({ ...second, source: file(scene.path), inbox: { mode: inbox } })
      const running = await runConsumer(consumer, {
        databaseUrl: scene.url,
        parts: ['consumer', 'worker'],
      })
      await until('the rest is booked', async () => (await booked(scene)).length >= 2)
      await running.drain()
      assert.deepEqual(await booked(scene), ['a1 1', 'a3 1'])
      const [, ignored] = await markers(scene, 2)
      assert.equal(ignored!.status, 'ignored')
      assert.match(
        String(ignored!.because),
        /^given_up: skipped by \S+ on \d{4}-.*: fraud: never journal this/,
      )
      assert.deepEqual(
        await scene.rows('select effect_key from onceward.ledger where effect_key = $1', 'a2'),
        [],
      )
    })

  test('without an id is ignored by its content, though the new one reads the id', async t => {
    const scene = await Scene.open(t)
    await scene.write(...history)
    const nameless = {
      id: (fact: Fact) => (fact.id === 'a2' ? undefined : fact.id),
      aggregateId: (fact: Fact) => fact.key,
    }
    await scene.live(scene.contract({ identity: nameless as never }))
    await skip(scene)
    await scene.pool.query('delete from effect')
    await scene.live(scene.contract(second))
    assert.deepEqual(await booked(scene), ['a1 1', 'a3 1'])
    await scene.pool.query('delete from effect')
    await scene.live(scene.contract({ generation: 3, identity: nameless as never }))
    assert.deepEqual(await booked(scene), ['a1 1', 'a3 1'])
    assert.deepEqual(await scene.rows('select from onceward.held'), [])
  })

  test('given up while the new one runs: stays so when the new one reaches the message', async t => {
    const scene = await Scene.open(t)
    await scene.write(history[0]!)
    await scene.live(scene.contract(second))
    await scene.write(...history.slice(1))
    await scene.live(careful(scene))
    await skip(scene)
    await scene.pool.query('delete from effect')
    await scene.live(scene.contract(second))
    assert.deepEqual(await booked(scene), ['a3 1'])
  })

  test('is in no table that the new one rebuilds', async t => {
    const scene = await Scene.open(t)
    await givenUp(scene)
    await scene.live(scene.contract(second))
    const replay = await scene.replay(scene.contract(second))
    const id = await scene.planned(replay, { mode: 'rebuild' })
    await replay.run(id)
    assert.deepEqual(await scene.outcomes(id), { applied: 2, 'given up': 1 })
    await verifyCampaign(scene.pool, id)
    await replay.swap(id, {})
    assert.deepEqual(await booked(scene), ['a1 1', 'a3 1'])
  })

  test('that the new one had applied before counts as applied there', async t => {
    const scene = await Scene.open(t)
    await scene.write(...history)
    await scene.live(scene.contract(second))
    await scene.live(careful(scene))
    await skip(scene)
    await scene.pool.query('update effect set times = 1')
    const replay = await scene.replay(scene.contract(second))
    const id = await scene.planned(replay, { mode: 'rebuild' })
    await replay.run(id)
    assert.deepEqual(await scene.outcomes(id), { applied: 3 })
    await verifyCampaign(scene.pool, id)
    await replay.swap(id, {})
    assert.deepEqual(await booked(scene), ['a1 1', 'a2 1', 'a3 1'])
  })

  test('is applied by a campaign of the new one that names it and was approved, and by every later one', async t => {
    const closing: People[] = []
    t.after(() => closing[0]?.close())
    const scene = await Scene.open(t)
    const people = new People(scene.pool, scene.url)
    closing.push(people)
    await scene.pool.query('select onceward.create_roles()')
    await givenUp(scene)
    await scene.live(scene.contract(second))
    const replay = await scene.replay(scene.contract(second))
    const selection = { ...log, includingSkipped: true }
    const { id } = await replay.create({ mode: 'replay', selection, reason: 'no fraud' })
    const { campaign, givenUp: before } = await replay.preview(id)
    assert.deepEqual(before, { messages: 1, included: true })
    const bob = await people.login(['onceward_approver'], { person: true })
    await approveCampaign(bob.pool, id, { because: 'asked', planDigest: campaign.planDigest! })
    await replay.run(id)
    assert.deepEqual(await booked(scene), ['a1 1', 'a2 1', 'a3 1'])
    await scene.pool.query('delete from effect')
    await scene.live(scene.contract({ generation: 3 }))
    assert.deepEqual(await booked(scene), ['a1 1', 'a2 1', 'a3 1'])
  })

  test('in the tables of a rebuild depends on that rebuild only', async t => {
    const scene = await Scene.open(t)
    await scene.write(...history)
    await scene.live(scene.contract())
    const replay = await scene.replay(careful(scene))
    const id = await scene.planned(replay, { mode: 'rebuild' })
    await replay.run(id)
    await skip(scene)
    await cancelCampaign(scene.pool, id, 'a mistake')
    await scene.pool.query('delete from effect')
    await scene.live(scene.contract({ generation: 3 }))
    assert.deepEqual(await booked(scene), ['a1 1', 'a2 1', 'a3 1'])
  })

  for (const dedup of ['version', 'checkpoint'] as const)
    test(`is ignored where no markers are written (dedup ${dedup})`, async t => {
      const scene = await Scene.open(t)
      await scene.pool.query('create table state (id text primary key, version bigint not null, key text)')
      const contract = (generation: number, trusts: boolean) => {
        const common = {
          name: 'facts',
          owner: 'tests',
          risk: 'projection',
          generation,
          source: scene.contract().source,
          identity: { id: fact => fact.id },
          dedup,
        } as const satisfies Partial<ConsumerContract<Fact, SqlTransaction>>
        if (dedup === 'version')
          return defineConsumer<Fact, SqlTransaction>({
            ...common,
            effect: {
              apply: projection<Fact>({
                table: 'state',
                key: { id: 'id' },
                version: { version: ({ id }) => (trusts || id !== 'a2' ? Number(id.slice(1)) : 'none') },
                columns: { key: 'key' },
                gap: 'skips allowed',
              }),
            },
          })
        return defineConsumer<Fact, SqlTransaction>({
          ...common,
          order: 'partition',
          settle: { when: 'with effect' },
          handle: async ({ message: { id }, tx }) => {
            if (id === 'a2' && !trusts) return park('looks like fraud')
            await tx.query('insert into state values ($1, 1)', [id])
            return undefined
          },
        })
      }
      await scene.write(...history)
      await scene.live(contract(1, false))
      await skip(scene)
      await scene.pool.query('delete from state')
      await scene.live(contract(2, true))
      assert.deepEqual(await scene.rows('select id from state order by id'), [{ id: 'a1' }, { id: 'a3' }])
    })
})

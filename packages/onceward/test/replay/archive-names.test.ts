import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { realEnvironment } from 'onceward'
import { resolveRetention } from '../../src/contract/retention.ts'
import { purgeConsumer } from '../../src/operations/retention/purge-consumer.ts'
import { renameConsumer } from '../../src/operations/server/names.ts'
import { skipWithout } from '../services/services.ts'
import { archiveDead, folderOf, givingUp } from './archive-scene.ts'
import { type Fact, type FactContract, Scene } from './scene.ts'

const selectionOf = (scene: Scene) => ({ of: 'archive' as const, path: folderOf(scene) })
const applied = async (scene: Scene) =>
  (await scene.rows<{ id: string }>('select id from effect order by id')).map(row => row.id)

/** Under this name, consumes these and gives them up; retention archives them. */
async function archived(scene: Scene, name: string, ...some: readonly Fact[]): Promise<void> {
  await scene.write(...some)
  await scene.live(scene.contract({ name, handle: givingUp(...some.map(({ id }) => id)) }))
  await archiveDead(scene, { name })
}

describe('the archive of a renamed consumer', await skipWithout('postgres'), () => {
  test('is read under its new name, together with newer archives', async t => {
    const scene = await Scene.open(t)
    await archived(scene, 'facts', { id: 'before' })
    await renameConsumer(scene.pool, 'facts', 'truths', 'a better name')
    await archived(scene, 'truths', { id: 'after' })
    await renameConsumer(scene.pool, 'truths', 'certainties', 'better still')
    const replay = await scene.replay(scene.contract({ name: 'certainties' }))
    const id = await scene.planned(replay, { selection: selectionOf(scene) })
    await replay.run(id)
    assert.deepEqual(await scene.outcomes(id), { applied: 2 })
    const again = await scene.planned(replay, { selection: selectionOf(scene) })
    await replay.run(again)
    assert.deepEqual(await scene.outcomes(again), { duplicate: 2 })
    assert.deepEqual(await applied(scene), ['after', 'before'])
  })

  test('is not read by another consumer that has the old name now', async t => {
    const scene = await Scene.open(t)
    await archived(scene, 'facts', { id: 'old' })
    await renameConsumer(scene.pool, 'facts', 'truths', 'a better name')
    await scene.pool.query('delete from onceward.reader')
    const taken = scene.contract({ name: 'facts' })
    await scene.live(scene.contract({ name: 'facts', handle: givingUp('old', 'new') }))
    const replay = await scene.replay(taken)
    await assert.rejects(
      replay.create({ mode: 'replay', selection: selectionOf(scene), reason: 'x' }),
      /no file with messages of facts \(it has 1 files of another consumer that was called facts at that time\)/,
    )
    await scene.pool.query(`delete from onceward.held`)
    await archived(scene, 'facts', { id: 'new' })
    const { id } = await replay.create({ mode: 'replay', selection: selectionOf(scene), reason: 'x' })
    const { plan } = await replay.preview(id)
    assert.deepEqual(plan.archive!.leftOut, [
      { what: 'files of another consumer that was called facts at that time', count: 1 },
    ])
    await replay.run(id)
    assert.deepEqual(await applied(scene), ['new'])
    const renamed = await scene.replay(scene.contract({ name: 'truths' }))
    const its = await scene.planned(renamed, { selection: selectionOf(scene) })
    await renamed.run(its)
    assert.deepEqual(await applied(scene), ['new', 'old'])
  })
})

describe('an archived message with a business key', await skipWithout('postgres'), () => {
  const keyed: Partial<FactContract> = {
    identity: { id: fact => fact.id, businessKey: fact => fact.key },
  }

  /** 'first' was given up and archived; 'second' had the effect of their key. */
  async function resent(scene: Scene): Promise<void> {
    const handle = givingUp('first')
    await scene.write({ id: 'first', key: 'order-1' })
    await scene.live(scene.contract({ ...keyed, handle }))
    await scene.write({ id: 'second', key: 'order-1' })
    await scene.live(scene.contract({ ...keyed, handle }))
    await archiveDead(scene)
    assert.deepEqual(await applied(scene), ['second'])
  }

  test('whose key had its effect since is a duplicate', async t => {
    const scene = await Scene.open(t)
    await resent(scene)
    const replay = await scene.replay(scene.contract(keyed))
    const id = await scene.planned(replay, { selection: selectionOf(scene) })
    await replay.run(id)
    assert.deepEqual(await scene.outcomes(id), { duplicate: 1 })
    assert.deepEqual(await applied(scene), ['second'])
  })

  test('is refused once retention has removed the key with the marker that used it', async t => {
    const scene = await Scene.open(t)
    await resent(scene)
    for (const table of ['inbox', 'business_key'])
      await scene.pool.query(
        `update onceward.${table} set at = at - interval '1 day' where message_id = 'second'`,
      )
    const env = realEnvironment()
    await purgeConsumer({
      pool: scene.pool,
      env,
      consumerId: 1,
      consumerName: 'facts',
      retention: resolveRetention({ markers: '12h', deadLetters: '1d' }, 'projection'),
      clocks: { wallMs: Date.now, clock: env.clock },
      share: 1,
    })
    assert.deepEqual(await scene.rows('select from onceward.business_key'), [])
    const replay = await scene.replay(scene.contract(keyed))
    const { id } = await replay.create({ mode: 'replay', selection: selectionOf(scene), reason: 'x' })
    await assert.rejects(replay.preview(id), { code: 'behind_horizon' })
    assert.deepEqual(await applied(scene), ['second'])
  })

  test('that was skipped together with its key is applied once, and its resend is a duplicate', async t => {
    const scene = await Scene.open(t)
    await scene.write({ id: 'first', key: 'order-1' })
    await scene.live(scene.contract({ ...keyed, handle: givingUp('first') }))
    await archiveDead(scene)
    const replay = await scene.replay(scene.contract(keyed))
    const id = await scene.planned(replay, { selection: selectionOf(scene) })
    await replay.run(id)
    await scene.write({ id: 'second', key: 'order-1' })
    await scene.live(scene.contract(keyed))
    assert.deepEqual(await applied(scene), ['first'])
  })
})

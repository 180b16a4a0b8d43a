import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { defineConsumer } from 'onceward'
import { until } from 'onceward/testing'
import { approveRequest, deleteParked, listApprovals } from '../../src/operations/parking/delete-parked.ts'
import { fixPayload, noteStateFixed } from '../../src/operations/parking/fix-parked.ts'
import { listParked } from '../../src/operations/parking/list-parked.ts'
import { previewParked } from '../../src/operations/parking/preview-parked.ts'
import { runRedrive, startRedrive } from '../../src/operations/parking/redrive-parked.ts'
import { skipParked } from '../../src/operations/parking/skip-parked.ts'
import { verifyAudit } from '../../src/operations/parking/verify-audit.ts'
import { releaseHeld } from '../../src/operations/work/release-held.ts'
import { skipWithout } from '../services/services.ts'
import { type JobContext, jobContract, Scene, write } from '../work/scene.ts'
import { direct, pause, settled } from './parked-scene.ts'
import { People, refusal } from './people.ts'

type Login = Awaited<ReturnType<People['login']>>
const sha256 = (body: string) => createHash('sha256').update(body).digest('hex')
const good = (id: string, more = {}) => JSON.stringify({ id, part: 'good', ...more })
const waits = /its fix needs the approval of a person other/

describe('a fixed payload', await skipWithout('postgres'), () => {
  let scene: Scene
  let people: People
  let ann: Login
  let bob: Login
  let shared: Login
  before(async () => {
    scene = await Scene.open()
    await scene.pool.query('select onceward.create_roles()')
    people = new People(scene.pool, scene.url)
    const both = ['onceward_operator', 'onceward_approver']
    ann = await people.login(both, { person: true })
    bob = await people.login(both, { person: true })
    shared = await people.login(both, { person: false })
  })
  after(async () => {
    await people.close()
    await scene.close()
  })

  /** Messages `a` and, behind it in order, `b` of the same key; only what has a good part is written. */
  const parked = async (name: string, changes: Parameters<Scene['start']>[1] = {}) => {
    const contract = {
      ...direct,
      failure: { attemptsMax: 1 },
      handle: async (context: JobContext) => {
        if (context.message.part !== 'good') throw new Error('bad part')
        await write(context, name)
      },
      ...changes,
    }
    await scene.publish(name, { id: 'a', key: 'k', part: 'bad' })
    const running = await scene.start(name, contract)
    await settled(scene, name)
    const consumer = defineConsumer(jobContract(name, contract))
    const { rows } = await previewParked(ann.pool, { consumer: name, countMax: 10 })
    const { id } = rows[0]!
    const fix = (by: Login, body: string) =>
      fixPayload(by.pool, consumer, { id, body: Buffer.from(body), because: 'the sender confirmed' })
    const replay = async (requestId: string) => {
      const { rows, digest } = await previewParked(ann.pool, { consumer: name, countMax: 10 })
      const order = { requestId, consumer: name, ids: rows.map(row => row.id), digest, perSecond: null }
      await startRedrive(ann.pool, { ...order, because: 'mended' })
      await runRedrive(ann.pool, requestId, { pause })
      const { rows: results } = await scene.pool.query(
        'select r.why from onceward.redrive_row r join onceward.redrive d on d.id = r.redrive_id where d.request_id = $1 order by r.held_id',
        [requestId],
      )
      return results.map(row => row.why as string | null)
    }
    return { id, running, consumer, fix, replay }
  }

  for (const risk of ['money', 'regulatory'] as const)
    it(`of risk ${risk} is redriven once another person has approved exactly these bytes`, async () => {
      const name = `fixed_${risk}`
      const { id, running, fix, replay } = await parked(name, { risk })
      const body = good('a', { key: 'k' })
      await assert.rejects(fix(shared, body), /is not registered in onceward.person/)
      const { approval } = await fix(ann, body)
      assert.equal(approval!.digest, sha256(body))
      const [row] = await listParked(ann.pool, { consumer: name, countMax: 1 })
      assert.match(row!.fixWaits!, waits)
      assert.match((await replay(`${name}-1`))[0]!, waits)
      await assert.rejects(releaseHeld(ann.pool, { id, consumer: name, because: 'quick' }), waits)
      assert.match(
        await refusal(scene.pool, `update onceward.held set state = 'stored' where id = ${id}`),
        /^42501.*was not released: its fix needs/,
      )
      assert.deepEqual(await scene.done(name), [])

      await assert.rejects(
        approveRequest(ann.pool, approval!.id, approval!.digest, 'looked at it'),
        /The requester cannot/,
      )
      await assert.rejects(
        approveRequest(shared.pool, approval!.id, approval!.digest, 'looked at it'),
        /is not registered in onceward.person/,
      )
      await assert.rejects(
        approveRequest(bob.pool, approval!.id, sha256('other'), 'looked at it'),
        /not the digest/,
      )
      const approved = await approveRequest(bob.pool, approval!.id, approval!.digest, 'looked at it')
      assert.deepEqual([approved.verb, approved.state, approved.approvedBy], ['fix', 'approved', bob.name])
      await assert.rejects(deleteParked(ann.pool, { id: approval!.id, consumer: name }), /not for a deletion/)
      assert.equal((await listParked(ann.pool, { consumer: name, countMax: 1 }))[0]!.fixWaits, null)
      assert.deepEqual(await replay(`${name}-2`), [null])
      await until('it is applied', async () => (await scene.done(name)).length === 1)
      await running.drain()
      assert.deepEqual(await scene.done(name), ['a'])
    })

  it('that is fixed again, even back to what was approved, is approved again', async () => {
    const { running, fix, replay } = await parked('again')
    const first = await fix(ann, good('a', { key: 'k' }))
    const second = await fix(ann, good('a', { key: 'k', cents: 2 }))
    await assert.rejects(
      approveRequest(bob.pool, first.approval!.id, first.approval!.digest, 'looked at it'),
      /has changed since the request/,
    )
    await approveRequest(bob.pool, second.approval!.id, second.approval!.digest, 'looked at it')
    const third = await fix(ann, good('a', { key: 'k', cents: 3 }))
    assert.match((await replay('again-1'))[0]!, waits)
    const back = await fix(ann, good('a', { key: 'k', cents: 2 }))
    assert.equal(back.approval!.digest, second.approval!.digest)
    assert.notEqual(back.approval!.id, third.approval!.id)
    assert.match((await replay('again-2'))[0]!, waits)
    await approveRequest(bob.pool, back.approval!.id, back.approval!.digest, 'looked at it')
    assert.deepEqual(await replay('again-3'), [null])
    await until('it is applied', async () => (await scene.done('again')).length === 1)
    await running.drain()
  })

  it('of another risk is redriven at once; so is a noted fix, and a skip needs no approval', async () => {
    const low = await parked('low', { risk: 'projection' })
    assert.equal((await low.fix(shared, good('a', { key: 'k' }))).approval, null)
    assert.deepEqual(await low.replay('low-1'), [null])
    await until('it is applied', async () => (await scene.done('low')).length === 1)
    await low.running.drain()

    const { id, running, replay, fix } = await parked('noted')
    await noteStateFixed(ann.pool, { id, consumer: 'noted', because: 'the account was opened' })
    assert.deepEqual(await replay('noted-1'), [null])
    await until('it is parked again', async () => (await scene.held('noted'))[0]?.state === 'parked')
    await fix(ann, good('a', { key: 'k' }))
    const { digest } = await previewParked(ann.pool, { consumer: 'noted', countMax: 1 })
    await skipParked(ann.pool, { consumer: 'noted', ids: [id], digest, because: 'not ours' })
    await running.drain()
    assert.deepEqual(await scene.done('noted'), [])
  })

  it('waits although the risk was lowered since, and when it was raised since', async () => {
    const { running, fix, replay } = await parked('lowered')
    await fix(ann, good('a', { key: 'k' }))
    await scene.pool.query(`update onceward.consumer set risk = 'low value' where name = 'lowered'`)
    assert.match((await replay('lowered-1'))[0]!, waits)
    await running.drain()
    const raised = await parked('raised', { risk: 'projection' })
    await raised.fix(ann, good('a', { key: 'k' }))
    await raised.running.drain()
    await scene.pool.query(`update onceward.consumer set risk = 'money' where name = 'raised'`)
    assert.match((await raised.replay('raised-1'))[0]!, /has no open request: fix it again/)
  })

  it('holds its key: messages behind it wait, and continue in order once it is approved', async () => {
    const { running, fix, replay } = await parked('ordered', { order: 'key' })
    await scene.publish('ordered', { id: 'b', key: 'k', part: 'good' })
    await settled(scene, 'ordered')
    const { approval } = await fix(ann, good('a', { key: 'k' }))
    const left = await replay('ordered-1')
    assert.match(left[0]!, waits)
    assert.match(left[1]!, /waits behind row/)
    await approveRequest(bob.pool, approval!.id, approval!.digest, 'looked at it')
    assert.deepEqual(await replay('ordered-2'), [null, null])
    await until('both are applied', async () => (await scene.done('ordered')).length === 2)
    await running.drain()
    assert.deepEqual(await scene.done('ordered'), ['a', 'b'])
    assert.ok((await listApprovals(bob.pool, { countMax: 1 }))[0]!.because.includes('confirmed'))
    assert.deepEqual((await verifyAudit(bob.pool)).problems, [])
  })
})

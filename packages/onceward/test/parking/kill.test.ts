import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type CrashPoint, until } from 'onceward/testing'
import { deleteParked } from '../../src/operations/parking/delete-parked.ts'
import { previewParked } from '../../src/operations/parking/preview-parked.ts'
import { showRedrive } from '../../src/operations/parking/redrive-parked.ts'
import { verifyAudit } from '../../src/operations/parking/verify-audit.ts'
import { skipWithout } from '../services/services.ts'
import { Scene } from '../work/scene.ts'
import type { OperatorOrders } from './operator-process.ts'
import { failing, inOrder, settled } from './parked-scene.ts'

const main = fileURLToPath(new URL('operator-process.ts', import.meta.url))

describe('an operator whose process is killed', await skipWithout('postgres'), () => {
  let scene: Scene
  before(async () => {
    scene = await Scene.open()
  })
  after(() => scene.close())

  const names = Array.from({ length: 8 }, (_, n) => `m-${n}`)

  /** Eight messages of two keys, of which each fails first, and a consumer that would apply them now. */
  const open = async (consumer: string) => {
    const bad = new Set(['m-0', 'm-1'])
    const changes = { ...inOrder, ...failing(consumer, bad) }
    await scene.publish(consumer, ...names.map((id, n) => ({ id, key: `k${n % 2}` })))
    const running = await scene.start(consumer, changes)
    await settled(scene, consumer)
    await until('all are parked', async () => (await scene.held(consumer)).length === 8)
    bad.clear()
    const { rows, digest } = await previewParked(scene.pool, { consumer, countMax: 100 })
    return { running, order: { consumer, digest, ids: rows.map(row => row.id) } }
  }
  const operate = async (orders: Omit<OperatorOrders, 'url'>) => {
    const env = { ...process.env, OPERATOR_ORDERS: JSON.stringify({ ...orders, url: scene.url }) }
    const child = spawn(process.execPath, ['--conditions=@onceward/source', main], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let said = ''
    child.stdout.on('data', data => {
      said += data
    })
    const [, signal] = await once(child, 'close')
    return signal === null ? JSON.parse(said) : (signal as string)
  }
  const inKeyOrder = async (consumer: string) => {
    const done = await scene.done(consumer)
    for (const parity of [0, 1])
      assert.deepEqual(
        done.filter(id => Number(id.slice(2)) % 2 === parity),
        names.filter((_, n) => n % 2 === parity),
      )
  }

  const windows: readonly [CrashPoint, number][] = [
    ['parking.selected', 1],
    ['parking.moving', 1],
    ['parking.moving', 2],
    ['parking.moved', 1],
    ['parking.moved', 2],
  ]
  for (const [index, [point, hit]] of windows.entries()) {
    it(`at ${point}, passage ${hit}, continues the same redrive: each once, in order`, async () => {
      const consumer = `killed_${index}`
      const { running, order } = await open(consumer)
      const orders = { ...order, act: 'replay' as const, requestId: consumer }
      assert.equal(await operate({ ...orders, dieAt: { point, hit } }), 'SIGKILL')
      const answer = await operate(orders)
      assert.equal(answer.state, 'moved')
      await until('all are done', async () => (await scene.done(consumer)).length >= 8)
      await until('nothing is held', async () => (await scene.held(consumer)).length === 0)
      await running.drain()
      assert.deepEqual((await scene.done(consumer)).length, 8)
      await inKeyOrder(consumer)
      const { outcomes } = await showRedrive(scene.pool, consumer, 10)
      assert.deepEqual(outcomes, { applied: 8 })
    })
  }

  it(`at 'parking.skipped' has skipped nothing`, async () => {
    const { running, order } = await open('not_skipped')
    const act = { ...order, act: 'skip' as const, requestId: '' }
    assert.equal(await operate({ ...act, dieAt: { point: 'parking.skipped', hit: 1 } }), 'SIGKILL')
    assert.equal((await scene.held('not_skipped')).length, 8)
    assert.equal((await operate(act)).closed, 8)
    await running.drain()
    assert.deepEqual(await scene.done('not_skipped'), [])
  })

  it(`at 'parking.fixed' has changed nothing`, async () => {
    const { running, order } = await open('not_fixed')
    await running.drain()
    await scene.pool.query(
      'insert into onceward.person (role_name) values (session_user) on conflict do nothing',
    )
    const act = { ...order, act: 'fix' as const, requestId: '' }
    const body = async () =>
      (
        await scene.pool.query(`select convert_from(body, 'UTF8') as body from onceward.held where id = $1`, [
          order.ids[0],
        ])
      ).rows[0].body
    const original = await body()
    const dying = await operate({ ...act, dieAt: { point: 'parking.fixed', hit: 1 } })
    assert.equal(dying, 'SIGKILL')
    assert.equal(await body(), original)
    const { rows } = await scene.pool.query('select count(*)::int from onceward.fix where held_id = $1', [
      order.ids[0],
    ])
    assert.equal(rows[0].count, 0)
    const requests = await scene.pool.query(`select from onceward.approval where verb = 'fix'`)
    assert.equal(requests.rowCount, 0)
  })

  it(`at 'parking.deleted' has erased nothing, and the approval stays valid`, async () => {
    const { running, order } = await open('not_deleted')
    await running.drain()
    const { rows } = await scene.pool.query('select session_user as me')
    await scene.pool.query('insert into onceward.person (role_name) values ($1) on conflict do nothing', [
      rows[0].me,
    ])
    await scene.pool.query('alter table onceward.approval disable trigger step')
    const made = await scene.pool.query(
      `insert into onceward.approval (verb, consumer_id, held_ids, digest, reason, requested_by, requested_at, expires_at, approved_by, approved_at)
       select 'delete', min(consumer_id), $1::bigint[], onceward.selection_digest($1::bigint[]), 'x', 'ann', now(), now() + interval '1 hour', 'bob', now()
       from onceward.held where id = any ($1::bigint[]) returning id::text`,
      [order.ids],
    )
    await scene.pool.query('alter table onceward.approval enable trigger step')
    const act = { ...order, act: 'delete' as const, requestId: made.rows[0].id }
    assert.equal(await operate({ ...act, dieAt: { point: 'parking.deleted', hit: 1 } }), 'SIGKILL')
    assert.equal((await scene.held('not_deleted')).length, 8)
    assert.equal((await deleteParked(scene.pool, { id: act.requestId, consumer: 'not_deleted' })).closed, 8)
  })

  it('two operators in two processes: the same selection moves once', async () => {
    const { running, order } = await open('raced')
    const act = { ...order, act: 'replay' as const }
    const answers = await Promise.all([
      operate({ ...act, requestId: 'raced-1' }),
      operate({ ...act, requestId: 'raced-1' }),
      operate({ ...act, requestId: 'raced-2' }),
    ])
    const moved = answers.reduce((sum, { moved = 0, behind = 0 }) => sum + moved + behind, 0)
    assert.equal(moved, 8, JSON.stringify(answers))
    await until('all are done', async () => (await scene.held('raced')).length === 0)
    await running.drain()
    assert.equal((await scene.done('raced')).length, 8)
    await inKeyOrder('raced')
    assert.deepEqual((await verifyAudit(scene.pool)).problems, [])
  })
})

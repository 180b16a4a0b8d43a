import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { defineConsumer, reject } from 'onceward'
import { publish } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { classifyParked } from '../../src/operations/parking/classify-parked.ts'
import { fixPayload, noteStateFixed } from '../../src/operations/parking/fix-parked.ts'
import { groupParked } from '../../src/operations/parking/group-parked.ts'
import { listParked } from '../../src/operations/parking/list-parked.ts'
import { previewParked } from '../../src/operations/parking/preview-parked.ts'
import {
  runRedrive,
  showRedrive,
  startRedrive,
  stopRedrive,
} from '../../src/operations/parking/redrive-parked.ts'
import { showParked } from '../../src/operations/parking/show-parked.ts'
import { skipParked } from '../../src/operations/parking/skip-parked.ts'
import { verifyAudit } from '../../src/operations/parking/verify-audit.ts'
import { skipWithout } from '../services/services.ts'
import { type JobContext, jobContract, Scene, write } from '../work/scene.ts'
import { direct, failing, pause, replayAll, settled } from './parked-scene.ts'

const noRetry = { ...direct, failure: { attemptsMax: 1, delayMs: 1 } }

describe('the operator', await skipWithout('postgres'), () => {
  let scene: Scene
  before(async () => {
    scene = await Scene.open()
  })
  after(() => scene.close())

  const jobs = (count: number, prefix = 'm') =>
    Array.from({ length: count }, (_, n) => ({ id: `${prefix}-${n}` }))
  const selected = (consumer: string, filter = {}) =>
    previewParked(scene.pool, { consumer, countMax: 100, ...filter })

  it('lists by page and groups by cause', async () => {
    const changes = {
      ...noRetry,
      handle: async ({ message }: JobContext) => {
        if (message.id === 'm-0') return reject('never')
        throw Object.assign(new Error('no'), { code: Number(message.id.slice(2)) % 2 === 0 ? 'EVEN' : 'ODD' })
      },
    }
    await scene.publish('listed', ...jobs(9))
    const running = await scene.start('listed', changes)
    await settled(scene, 'listed')
    await running.drain()
    const first = await listParked(scene.pool, { consumer: 'listed', countMax: 5 })
    const rest = await listParked(scene.pool, { consumer: 'listed', countMax: 5, after: first.at(-1)!.id })
    assert.deepEqual([first.length, rest.length], [5, 4])
    assert.equal(new Set([...first, ...rest].map(row => row.messageId)).size, 9)
    const groups = await groupParked(scene.pool, { consumer: 'listed', countMax: 10 })
    assert.deepEqual(groups.map(({ code, state, count }) => [code, state, count]).sort(), [
      ['EVEN', 'parked', 4],
      ['ODD', 'parked', 4],
      ['reject', 'dead', 1],
    ])
    const odd = groups.find(({ code }) => code === 'ODD')!
    const ofCause = await listParked(scene.pool, { consumer: 'listed', cause: odd.cause, countMax: 10 })
    assert.deepEqual([ofCause.length, ofCause[0]!.id], [4, odd.example])
    assert.deepEqual(
      await listParked(scene.pool, { consumer: 'listed', states: ['quarantined'], countMax: 5 }),
      [],
    )
  })

  it('sees everything about a message: bytes, headers, attempts and acts', async () => {
    await scene.publish('shown', { id: 'a', part: 'x' })
    const running = await scene.start('shown', {
      ...direct,
      failure: { attemptsMax: 2, delayMs: 1 },
      ...failing('shown', new Set(['a'])),
    })
    await settled(scene, 'shown')
    await running.drain()
    const { rows } = await selected('shown')
    await classifyParked(scene.pool, {
      consumer: 'shown',
      ids: [rows[0]!.id],
      label: 'printer',
      assignee: 'ann',
      note: 'asked the vendor',
    })
    const shown = await showParked(scene.pool, rows[0]!.id)
    assert.deepEqual([shown.body.as, JSON.parse(shown.body.content)], ['text', { id: 'a', part: 'x' }])
    assert.deepEqual(
      [shown.label, shown.assignee, shown.attempts, shown.origin],
      ['printer', 'ann', 2, 'shown'],
    )
    assert.ok(shown.firstFailureAt <= shown.lastFailureAt)
    assert.deepEqual(shown.timeline.map(({ what }) => what).sort(), [
      'attempt 1',
      'attempt 2',
      'classified',
      'parked',
    ])
    assert.equal((await listParked(scene.pool, { assignee: 'ann', countMax: 5 })).length, 1)
  })

  it('redrives a selection once, for any number of requests, and sees each outcome', async () => {
    const bad = new Set(['m-0', 'm-1', 'm-2', 'm-3'])
    await scene.publish('replayed', ...jobs(4))
    const changes = { ...noRetry, ...failing('replayed', bad) }
    const running = await scene.start('replayed', changes)
    await settled(scene, 'replayed')
    for (const id of ['m-0', 'm-1', 'm-2']) bad.delete(id)
    const { rows, digest } = await selected('replayed')
    const order = {
      requestId: 'r-1',
      consumer: 'replayed',
      ids: rows.map(row => row.id),
      digest,
      perSecond: null,
      because: 'mended',
    }
    assert.equal((await startRedrive(scene.pool, order)).known, false)
    assert.equal((await startRedrive(scene.pool, order)).known, true)
    const runs = await Promise.all([1, 2].map(() => runRedrive(scene.pool, 'r-1', { pause })))
    assert.equal(
      runs.reduce((sum, { moved }) => sum + moved, 0),
      4,
    )
    const over = async () => (await showRedrive(scene.pool, 'r-1', 10)).outcomes
    await until('all are decided', async () => (await over())['at work'] === undefined)
    assert.deepEqual(await over(), { applied: 3, 'parked again': 1 })
    await runRedrive(scene.pool, 'r-1', { pause })
    await assert.rejects(startRedrive(scene.pool, { ...order, digest: '0'.repeat(64) }), /another selection/)
    await assert.rejects(
      startRedrive(scene.pool, { ...order, requestId: 'r-2' }),
      /Some of these rows|changed/,
    )
    bad.clear()
    await replayAll(scene, 'replayed', 'r-3')
    await until('the last is done', async () => (await scene.done('replayed')).length === 4)
    await running.drain()
    assert.deepEqual((await scene.done('replayed')).sort(), ['m-0', 'm-1', 'm-2', 'm-3'])
    assert.deepEqual(await over(), { applied: 3, 'parked again': 1 })
  })

  it('never applies a message twice: applied before by its id, by its business key, or by hand', async () => {
    const contract = {
      ...noRetry,
      identity: { id: (m: { id: string }) => m.id, businessKey: (m: { part?: string }) => m.part ?? 'none' },
      handle: async (context: JobContext) => {
        if (context.message.id === 'first') return reject('wrong')
        await write(context, 'once')
        return undefined
      },
    }
    await scene.publish('once', { id: 'first', part: 'order-1' })
    const running = await scene.start('once', contract)
    await settled(scene, 'once')
    await scene.publish('once', { id: 'second', part: 'order-1' })
    await until('the corrected one is applied', async () => (await scene.done('once')).length === 1)
    await publish(scene.pool, 'once', [{ body: { id: 'second', part: 'order-2' } }])
    await until('its other content is quarantined', async () => (await scene.held('once')).length === 2)
    await replayAll(scene, 'once', 'once-1')
    const { rows } = await showRedrive(scene.pool, 'once-1', 10)
    assert.deepEqual(
      rows.map(({ messageId, outcome, why }) => [messageId, outcome, why]),
      [
        ['first', 'left', 'its business key was used by message second'],
        ['second', 'left', 'its message id is already applied'],
      ],
    )
    await running.drain()
    assert.deepEqual(await scene.done('once'), ['second'])
  })

  it('fixes a payload: identity kept, both digests, diff shown, original kept, and then it is applied once', async () => {
    const contract = {
      ...noRetry,
      risk: 'notification' as const, // money and regulatory need a second person: fix-approval.test.ts
      handle: async (context: JobContext) => {
        if (context.message.part !== 'good') throw new Error('bad part')
        await write(context, 'fixed')
      },
    }
    await scene.publish('fixed', { id: 'a', part: 'bad' })
    const running = await scene.start('fixed', contract)
    await settled(scene, 'fixed')
    const consumer = defineConsumer(jobContract('fixed', contract))
    const { rows } = await selected('fixed')
    const { id } = rows[0]!
    const fix = (body: object, because = 'typo') =>
      fixPayload(scene.pool, consumer, { id, body: Buffer.from(JSON.stringify(body)), because })
    await assert.rejects(fix({ id: 'b', part: 'good' }), /a fix must keep it/)
    await assert.rejects(
      fixPayload(scene.pool, consumer, { id, body: Buffer.from('{'), because: 'typo' }),
      /cannot be read/,
    )
    await assert.rejects(fix({ id: 'a', part: 'good' }, ' '), /Say why/)
    const { diff, digestBefore, digestAfter } = await fix({ id: 'a', part: 'good' })
    assert.notEqual(digestBefore, digestAfter)
    assert.deepEqual(
      diff!.filter(({ sign }) => sign !== ' ').map(({ sign, text }) => sign + text.trim()),
      ['-"part": "bad"', '+"part": "good"'],
    )
    await replayAll(scene, 'fixed', 'fixed-1')
    await until('it is applied', async () => (await scene.done('fixed')).length === 1)
    for (const part of ['bad', 'good']) {
      await scene.publish('fixed', { id: 'a', part })
      await settled(scene, 'fixed')
    }
    await running.drain()
    assert.deepEqual(await scene.done('fixed'), ['a'])
    assert.deepEqual(await scene.held('fixed'), [], 'both contents are known under this id')
    const { rows: lineage } = await scene.pool.query(
      `select kind, convert_from(body_before, 'UTF8') as before, encode(digest_after, 'hex') as after from onceward.fix where held_id = $1`,
      [id],
    )
    assert.deepEqual(lineage, [{ kind: 'payload', before: '{"id":"a","part":"bad"}', after: digestAfter }])
  })

  it('records another fix', async () => {
    await scene.publish('state', { id: 'a' })
    const bad = new Set(['a'])
    const running = await scene.start('state', { ...noRetry, ...failing('state', bad) })
    await settled(scene, 'state')
    const before = await selected('state')
    await noteStateFixed(scene.pool, { id: before.rows[0]!.id, consumer: 'state', because: 'account opened' })
    const after = await selected('state')
    assert.notEqual(after.digest, before.digest)
    bad.clear()
    await replayAll(scene, 'state', 'state-1')
    await until('it is applied', async () => (await scene.done('state')).length === 1)
    await running.drain()
  })

  it('two who decide at once: one of them finds it changed', async () => {
    await scene.publish('race', ...jobs(3))
    const running = await scene.start('race', {
      ...noRetry,
      ...failing('race', new Set(['m-0', 'm-1', 'm-2'])),
    })
    await settled(scene, 'race')
    await running.drain()
    const { rows, digest } = await selected('race')
    const ids = rows.map(row => row.id)
    const results = await Promise.allSettled(
      Array.from({ length: 4 }, () =>
        skipParked(scene.pool, { consumer: 'race', ids, digest, because: 'old' }),
      ),
    )
    assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1)
    const { rows: gaps } = await scene.pool.query(
      `select count(*)::int from onceward.closed_held where held_id = any ($1::bigint[])`,
      [ids],
    )
    assert.equal(gaps[0].count, 3)
  })

  it('redrives no faster than requested, and stops on request', async () => {
    const bad = new Set(jobs(30).map(({ id }) => id))
    await scene.publish('slow', ...jobs(30))
    // All 30 fail for one cause at their only attempt: the brake would keep them out of the parking lot.
    const failure = { ...noRetry.failure, brake: false as const }
    const running = await scene.start('slow', { ...noRetry, failure, ...failing('slow', bad) })
    await settled(scene, 'slow')
    bad.clear()
    const { rows, digest } = await selected('slow')
    const ids = rows.map(row => row.id)
    await startRedrive(scene.pool, {
      requestId: 'slow-1',
      consumer: 'slow',
      ids,
      digest,
      perSecond: 10,
      because: 'x',
    })
    const stages: number[] = []
    const waits: number[] = []
    const stopped = await runRedrive(scene.pool, 'slow-1', {
      pause: async ms => {
        waits.push(ms)
        await stopRedrive(scene.pool, 'slow-1', 'too many errors')
      },
      onStage: ({ moved }) => void stages.push(moved),
    })
    assert.deepEqual([stages[0], stopped.state], [10, 'stopped'])
    assert.ok(waits[0]! > 500 && waits[0]! <= 1_000, `${waits[0]}`)
    const left = await selected('slow')
    assert.equal(left.rows.length, 20)
    await until('ten are done', async () => (await scene.done('slow')).length === 10)
    await running.drain()
  })

  it('leaves an audit chain of every act and refusal', async () => {
    const { problems, rows } = await verifyAudit(scene.pool)
    assert.deepEqual(problems, [])
    assert.ok(rows > 10)
    const { rows: found } = await scene.pool.query(
      `select distinct action, outcome from onceward.audit order by 1, 2`,
    )
    const words = found.map(({ action, outcome }) => `${action} ${outcome}`)
    for (const word of [
      'parked fix done',
      'parked fix refused',
      'parked redrive done',
      'parked redrive refused',
      'parked skip done',
      'parked skip refused',
      'parked stop done',
    ])
      assert.ok(words.includes(word), word)
  })
})

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ignore, park } from 'onceward'
import { until } from 'onceward/testing'
import { explain } from '../../src/evidence/explain.ts'
import { previewParked } from '../../src/operations/parking/preview-parked.ts'
import { showRedrive } from '../../src/operations/parking/redrive-parked.ts'
import { skipParked } from '../../src/operations/parking/skip-parked.ts'
import { purgeConsumer } from '../../src/operations/retention/purge-consumer.ts'
import { releaseHeld } from '../../src/operations/work/release-held.ts'
import { purgeOptions } from '../retention/scene.ts'
import { skipWithout } from '../services/services.ts'
import { type Job, type JobContext, Scene, write } from '../work/scene.ts'
import { blockedKeys, direct, replayAll, settled } from './parked-scene.ts'

const name = 'pairs'
const identity = {
  id: (m: Job) => m.id,
  orderKey: (m: Job) => m.key,
  businessKey: (m: Job) => m.part,
}

/** A consumer that parks the ids in `bad`, with what was published already settled. */
async function open(
  t: { after(close: () => Promise<void>): void },
  bad: ReadonlySet<string>,
  changes: object,
  ...jobs: readonly Job[]
) {
  const scene = await Scene.open()
  t.after(() => scene.close())
  const contract = {
    ...direct,
    identity,
    handle: async (context: JobContext) =>
      bad.has(context.message.id) ? park('a person decides') : write(context, name),
    ...changes,
  }
  await scene.publish(name, jobs[0]!)
  const running = await scene.start(name, contract)
  await settled(scene, name)
  if (jobs.length > 1) await scene.publish(name, ...jobs.slice(1))
  const marked = (...wanted: readonly string[]) =>
    until(
      `markers are ${wanted.join(', ')}`,
      async () => (await scene.markers(name)).join() === wanted.join(),
      { deadlineMs: 30_000 },
    )
  return { scene, running, marked, contract }
}

async function rowOf(scene: Scene, messageId: string): Promise<string> {
  return (await scene.held(name)).find(row => row.message_id === messageId)!.id
}

async function skip(scene: Scene, messageId: string): Promise<void> {
  const ids = [await rowOf(scene, messageId)]
  const { digest } = await previewParked(scene.pool, { consumer: name, ids, countMax: 10 })
  await skipParked(scene.pool, { consumer: name, ids, digest, because: 'not wanted' })
}

const a = { id: 'a', key: 'k1', part: 'cap-1' }
const b = { id: 'b', key: 'k2', part: 'cap-1' }
const c = { id: 'c', key: 'k2', part: 'cap-2' }

describe('a message that waits for its business key', await skipWithout('postgres'), () => {
  test('holds its order key: messages behind it are parked, and follow it in order', async t => {
    const { scene, running, marked } = await open(t, new Set(['a']), { order: 'key' }, a, b, c)
    await marked('a parked', 'b parked', 'c parked')
    assert.deepEqual(await blockedKeys(scene, name), ['k1 parked', 'k2 parked'])
    await skip(scene, 'a')
    await marked('a ignored', 'b applied', 'c applied')
    await until('the keys are live again', async () => (await blockedKeys(scene, name)).length === 0)
    await running.drain()
    assert.deepEqual(await scene.done(name), ['b', 'c'])
  })

  test('is not released before its holder, and is released with it', async t => {
    const bad = new Set(['a'])
    const { scene, running, marked } = await open(t, bad, {}, a, b)
    await marked('a parked', 'b parked')
    await replayAll(scene, name, 'alone', { ids: [await rowOf(scene, 'b')] })
    assert.deepEqual(
      (await showRedrive(scene.pool, 'alone', 10)).rows.map(({ outcome, why }) => [outcome, why]),
      [['left', 'waits for its business key, which message a holds']],
    )
    await assert.rejects(
      releaseHeld(scene.pool, { id: await rowOf(scene, 'b'), consumer: name, because: 'go on' }),
      /waits for its business key, which message a holds/,
    )
    bad.clear()
    await replayAll(scene, name, 'both')
    await marked('a applied', 'b duplicate')
    await running.drain()
    assert.deepEqual(await scene.done(name), ['a'])
  })

  test('continues when its holder is released and ends without an effect', async t => {
    const bad = new Set(['a'])
    const said = { ignores: false }
    const handle = async (context: JobContext) => {
      if (context.message.id !== 'a') return write(context, name)
      return said.ignores ? ignore('nothing to do') : park('a person decides')
    }
    const { scene, running, marked } = await open(t, bad, { handle }, a, b)
    await marked('a parked', 'b parked')
    said.ignores = true
    await releaseHeld(scene.pool, { id: await rowOf(scene, 'a'), consumer: name, because: 'go on' })
    await marked('a ignored', 'b applied')
    await running.drain()
    assert.deepEqual(await scene.done(name), ['b'])
  })

  test('that is skipped leaves the key to its holder, and its place to the next one', async t => {
    const { scene, running, marked } = await open(t, new Set(['a']), {}, a, b, { ...c, part: 'cap-1' })
    await marked('a parked', 'b parked', 'c parked')
    await skip(scene, 'b')
    await marked('a parked', 'b ignored', 'c parked')
    await skip(scene, 'a')
    await marked('a ignored', 'b ignored', 'c applied')
    await running.drain()
  })

  test('counts against the caps of the parking lot, and waits at the source beyond them', async t => {
    const parking = { perKeyMax: 1, totalMax: 1_000 }
    const failure = { attemptsMax: 1, delayMs: 1, parking }
    const { scene, running, marked } = await open(t, new Set(['a']), { failure }, a, b)
    await marked('a parked', 'b parked')
    await scene.publish(name, { ...c, part: 'cap-1' })
    await until('the cap was met', () => scene.counted('parkingFull') > 0)
    assert.equal(await scene.depth(name), 1)
    assert.deepEqual(await scene.markers(name), ['a parked', 'b parked'])
    await skip(scene, 'a')
    await marked('a ignored', 'b applied', 'c duplicate')
    await running.drain()
  })

  test('keeps the key of its holder from retention', async t => {
    const { scene, running, marked } = await open(t, new Set(['a']), {}, a, b)
    await marked('a parked', 'b parked')
    await running.drain()
    // As if the holder had been applied long ago and nobody had told.
    await scene.pool.query(`delete from onceward.held where message_id = 'a'`)
    await scene.pool.query(`update onceward.inbox set status = 'applied' where message_id = 'a'`)
    await scene.pool.query(`update onceward.inbox set at = at - interval '400 days'`)
    await scene.pool.query(`update onceward.business_key set at = at - interval '400 days'`)
    await purgeConsumer(purgeOptions({ pool: scene.pool, consumerId: 1 }))
    const { rows } = await scene.pool.query('select key, message_id from onceward.business_key')
    assert.deepEqual(rows, [{ key: 'cap-1', message_id: 'a' }])
  })

  test('is explained: which message it waits for, and both outcomes', async t => {
    const { scene, running, marked } = await open(t, new Set(['a']), {}, a, b)
    await marked('a parked', 'b parked')
    const told = async (question: Parameters<typeof explain>[1]) => {
      const { stories } = await explain(scene.pool, question)
      return stories.flatMap(({ messageId, timeline }) =>
        timeline.map(({ what, text }) => `${messageId} ${what}: ${text}`),
      )
    }
    const waits = (await told({ by: 'business key', key: 'cap-1' })).join('\n')
    assert.match(waits, /^a held as parked: a person decides/m)
    assert.match(waits, /^b held as parked: waits for its business key, which message a holds/m)
    await skip(scene, 'a')
    await marked('a ignored', 'b applied')
    await running.drain()
    const after = (await told({ by: 'message', id: 'b' })).join('\n')
    assert.match(after, /^b parked: behind_business_key: waits for its business key, which message a holds/m)
    assert.match(after, /^b has its business key: message a ended without an effect/m)
    assert.match((await told({ by: 'message', id: 'a' })).join('\n'), /^a skipped: not wanted/m)
  })

  test('takes over from a message that the current contract cannot read', async t => {
    const stored = { inbox: { mode: 'stored' as const } }
    const scene = await Scene.open()
    t.after(() => scene.close())
    await scene.store(name, { ...stored, identity }, a, b)
    const schema = {
      '~standard': {
        version: 1 as const,
        vendor: 'test',
        validate: (value: unknown) =>
          (value as Job).id === 'a'
            ? { issues: [{ message: 'not read any more' }] }
            : { value: value as Job },
      },
    }
    const running = await scene.start(name, { ...stored, identity, message: { schema } } as object)
    await until('the resend is applied', async () => (await scene.done(name)).join() === 'b', {
      deadlineMs: 30_000,
    })
    await running.drain()
    const { rows } = await scene.pool.query('select key, message_id from onceward.business_key')
    assert.deepEqual(rows, [{ key: 'cap-1', message_id: 'b' }])
  })
})

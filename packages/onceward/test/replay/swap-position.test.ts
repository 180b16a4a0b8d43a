import assert from 'node:assert/strict'
import { copyFile, writeFile } from 'node:fs/promises'
import { describe, test } from 'node:test'
import { park, type ReplayOptions, runConsumer } from 'onceward'
import { file } from 'onceward/file'
import { until } from 'onceward/testing'
import { listParked } from '../../src/operations/parking/list-parked.ts'
import { releaseHeld } from '../../src/operations/work/release-held.ts'
import { verifyCampaign } from '../../src/replay/campaign/steer-campaign.ts'
import { replayAll } from '../parking/parked-scene.ts'
import { skipWithout } from '../services/services.ts'
import { type FactContract, factContract, facts, Scene } from './scene.ts'
import { waitingConsumer } from './waiting-consumer.ts'

type Changes = Partial<FactContract>

/** Ids of what was asked for outside the database, once for each time. */
async function asked(scene: Scene) {
  const effects = await scene.rows<{ id: string }>('select effect_key as id from onceward.ledger order by 1')
  const messages = await scene.rows<{ id: string }>(
    `select convert_from(body, 'UTF8')::json ->> 'id' as id from onceward.outbox order by 1`,
  )
  return { effects: effects.map(row => row.id), messages: messages.map(row => row.id) }
}

async function applied(scene: Scene): Promise<string[]> {
  const rows = await scene.rows<{ id: string; times: number }>('select id, times from effect order by id')
  assert.deepEqual(
    rows.filter(({ times }) => times !== 1),
    [],
  )
  return rows.map(({ id }) => id)
}

/** Every one of these has its effect once, and everything it asks for was asked for once. */
async function assertAll(scene: Scene, ids: readonly string[]): Promise<void> {
  const all = [...ids].sort()
  assert.deepEqual(await applied(scene), all)
  assert.deepEqual(await asked(scene), { effects: all, messages: all })
}

async function rebuilt(scene: Scene, changes: Changes = {}, options: Partial<ReplayOptions> = {}) {
  const replay = await scene.replay(scene.contract(changes), { waitMaxMs: 60_000, ...options })
  const id = await scene.planned(replay, { mode: 'rebuild' })
  await replay.run(id)
  assert.equal((await verifyCampaign(scene.pool, id)).complete, true)
  return { replay, id }
}

async function start(scene: Scene, changes: Changes = {}, parts: ('consumer' | 'worker')[] = ['worker']) {
  const running = await runConsumer(scene.contract(changes), { databaseUrl: scene.url, parts })
  return { [Symbol.asyncDispose]: () => running.drain() }
}

const unless = (isBad: (id: string) => boolean): Changes => ({
  handle: (async (context: Parameters<NonNullable<FactContract['handle']>>[0]) =>
    isBad(context.message.id) ? park('not today') : factContract('').handle!(context)) as never,
})
const ids = (...groups: readonly { id: string }[][]) => groups.flat().map(({ id }) => id)
const accept = { effect: 'live has not all of it' }

describe('the position of a swap', await skipWithout('postgres'), () => {
  test('is refused while live has not read what the rebuild has applied, and nothing is lost', async t => {
    const scene = await Scene.open(t)
    await scene.write(...facts(3))
    await scene.live(scene.contract())
    await scene.write(...facts(4, 'later'))
    const { replay, id } = await rebuilt(scene)
    await assert.rejects(
      replay.swap(id, { accept }),
      /The live consumer has not finished 4 messages .*4 are not read/,
    )
    await scene.live(scene.contract())
    await replay.swap(id)
    await assertAll(scene, ids(facts(3), facts(4, 'later')))
  })

  test('is the live position: unread messages are left to live', async t => {
    const scene = await Scene.open(t)
    await scene.write(...facts(3))
    await scene.live(scene.contract())
    const { replay, id } = await rebuilt(scene)
    await scene.write(...facts(4, 'live'))
    await scene.live(scene.contract())
    await scene.write(...facts(5, 'unread'))
    const swap = await replay.swap(id)
    assert.equal(swap.messages, 0)
    assert.deepEqual(await applied(scene), ids(facts(3), facts(4, 'live')))
    await scene.live(scene.contract())
    await assertAll(scene, ids(facts(3), facts(4, 'live'), facts(5, 'unread')))
  })

  test('waits for a live consumer that is about to read the rest', async t => {
    const scene = await Scene.open(t)
    await scene.write(...facts(3))
    await scene.live(scene.contract())
    await scene.write(...facts(30, 'later'))
    const { env, untilItWaits } = waitingConsumer()
    const { replay, id } = await rebuilt(scene, {}, { env })
    const open = Promise.withResolvers<void>()
    const slow: Changes = {
      source: file(scene.path),
      handle: async context => {
        await open.promise
        return factContract('').handle!(context)
      },
    }
    await using _live = await start(scene, slow, ['consumer'])
    const swapped = replay.swap(id)
    await untilItWaits(swapped).finally(open.resolve)
    await swapped
    await assertAll(scene, ids(facts(3), facts(30, 'later')))
  })

  test('is refused while live holds a message that the rebuild has applied; once released, its effects are requested', async t => {
    const scene = await Scene.open(t)
    await scene.write(...facts(3), { id: 'bad' })
    await scene.live(scene.contract(unless(id => id === 'bad')))
    const { replay, id } = await rebuilt(scene)
    await assert.rejects(replay.swap(id, { accept }), /1 messages .*1 are parked, dead or quarantined/)
    assert.equal((await listParked(scene.pool, { countMax: 10 })).length, 1)
    await replayAll(scene, 'facts', 'r')
    await using _worker = await start(scene)
    await until('it is applied', async () => (await applied(scene)).length === 4)
    await replay.swap(id)
    await assertAll(scene, ['bad', ...ids(facts(3))])
  })

  test('leaves messages that live parked meanwhile to live, also after a refused swap', async t => {
    const scene = await Scene.open(t)
    await scene.write(...facts(3))
    await scene.live(scene.contract())
    const { replay, id } = await rebuilt(scene)
    await scene.write({ id: 'bad 1' }, ...facts(20, 'more'), { id: 'bad 2' }, { id: 'good' })
    await scene.live(scene.contract(unless(id => id.startsWith('bad'))))
    await scene.pool.query(`update effect set times = 7 where id = 'good'`)
    await assert.rejects(replay.swap(id), /1 different/)
    await scene.pool.query(`update effect set times = 1 where id = 'good'`)
    const [first] = await listParked(scene.pool, { countMax: 10 })
    await releaseHeld(scene.pool, { id: first!.id, consumer: 'facts', because: 'mended' })
    await using _worker = await start(scene)
    await until('it is applied', async () => (await applied(scene)).includes('bad 1'))
    await replay.swap(id)
    assert.deepEqual(await applied(scene), ['bad 1', ...ids(facts(3)), 'good', ...ids(facts(20, 'more'))])
    assert.equal((await listParked(scene.pool, { countMax: 10 })).length, 1)
    await replayAll(scene, 'facts', 'r')
    await until('the other is applied', async () => (await applied(scene)).includes('bad 2'))
    await assertAll(scene, ['bad 1', 'bad 2', 'good', ...ids(facts(3), facts(20, 'more'))])
    assert.deepEqual(await scene.outcomes(id), { applied: 25 })
  })

  test('leaves messages that live could not read to live: the row has no id', async t => {
    const scene = await Scene.open(t)
    const failure = { policies: { poison: { terminal: 'parked' as const } } }
    await scene.write(...facts(2))
    await scene.live(scene.contract({ failure, identity: { id: () => undefined as never } }))
    await scene.write(...facts(1, 'good'))
    await scene.live(scene.contract({ failure }))
    const { replay, id } = await rebuilt(scene, { failure })
    await assert.rejects(replay.swap(id, { accept }), /2 messages .*2 are parked, dead or quarantined/)
    await replayAll(scene, 'facts', 'r')
    await using _worker = await start(scene, { failure })
    await until('they are applied', async () => (await applied(scene)).length === 3)
    await replay.swap(id)
    await assertAll(scene, ids(facts(2), facts(1, 'good')))
  })

  test('of stored mode: stored messages stay with the live workers', async t => {
    const scene = await Scene.open(t)
    const inbox = { mode: 'stored' as const }
    await scene.write(...facts(3))
    await scene.live(scene.contract({ inbox }))
    const { replay, id } = await rebuilt(scene, { inbox })
    await assert.rejects(replay.swap(id, { accept }), /3 messages .*3 are stored, deferred or waiting/)
    {
      await using _worker = await start(scene, { inbox })
      await until('they are applied', async () => (await applied(scene)).length === 3)
    }
    await scene.write(...facts(4, 'stored'))
    await scene.live(scene.contract({ inbox }))
    await replay.swap(id)
    assert.deepEqual(await applied(scene), ids(facts(3)))
    await using _worker = await start(scene, { inbox })
    await until('all are applied', async () => (await applied(scene)).length === 7)
    await assertAll(scene, ids(facts(3), facts(4, 'stored')))
  })

  test('is exact beside a running live consumer', async t => {
    const scene = await Scene.open(t)
    await scene.write(...facts(50))
    await scene.live(scene.contract())
    const { replay, id } = await rebuilt(scene)
    const all = ids(facts(50))
    const source = file(scene.path)
    const changes = { source, ...unless(one => one.endsWith('7')) }
    await using _live = await start(scene, changes, ['consumer', 'worker'])
    let isOver = false
    const writing = (async () => {
      for (let round = 0; !isOver || round < 20; round++) {
        const more = facts(10, `r${String(round).padStart(4, '0')}-`)
        all.push(...ids(more))
        await scene.write(...more)
        const before = await applied(scene)
        await until('live goes on', async () => isOver || (await applied(scene)).length > before.length)
      }
    })()
    await until('live is at it', async () => (await applied(scene)).length > 80)
    await replay.swap(id)
    isOver = true
    await writing
    const parked = () => listParked(scene.pool, { countMax: 1_000 })
    await until(
      'all are read',
      async () => (await applied(scene)).length + (await parked()).length === all.length,
    )
    const left = (await parked()).map(({ messageId }) => messageId!)
    assert.ok(left.length > 1)
    await assertAll(
      scene,
      all.filter(one => !left.includes(one)),
    )
  })

  test('counts a message that is under way as a retry copy, and not one that live never had', async t => {
    const scene = await Scene.open(t)
    await scene.write(...facts(3))
    await scene.live(scene.contract())
    await scene.pool.query(`delete from onceward.inbox where message_id in ('f00001', 'f00002')`)
    await scene.pool.query(
      `insert into onceward.attempt (consumer_id, message_id, number, run_id, failure_class, code, error)
       select id, 'f00001', 1, 1, 'transient', '', '' from onceward.consumer`,
    )
    const { replay, id } = await rebuilt(scene)
    await assert.rejects(replay.swap(id), /1 messages .*1 are not read or are being retried/)
    await scene.pool.query('delete from onceward.attempt')
    assert.equal((await replay.swap(id)).messages, 2)
  })

  test('of a rebuild from a file needs its messages live: a replay of the same file decides about their effects', async t => {
    const scene = await Scene.open(t)
    await scene.write(...facts(3))
    await scene.live(scene.contract())
    const selection = { of: 'file', path: `${scene.path}.history` } as const
    await writeFile(
      selection.path,
      [...facts(3), ...facts(2, 'old')].map(one => JSON.stringify(one)).join('\n'),
    )
    const replay = await scene.replay(scene.contract())
    const id = await scene.planned(replay, { mode: 'rebuild', selection })
    await replay.run(id)
    await verifyCampaign(scene.pool, id)
    await assert.rejects(replay.swap(id), /2 messages .*2 are not read.*replay campaign of that file/)
    await replay.run(await scene.planned(replay, { selection: { ...selection, neverLive: true } }))
    await replay.swap(id)
    assert.deepEqual(await applied(scene), ids(facts(3), facts(2, 'old')))
    assert.deepEqual((await asked(scene)).effects, ids(facts(3)))
  })

  test('of a rebuild from a file is accepted by name where retention has removed the markers', async t => {
    const scene = await Scene.open(t)
    await scene.write(...facts(3))
    await scene.live(scene.contract())
    const selection = { of: 'file', path: `${scene.path}.history` } as const
    await copyFile(scene.path, selection.path)
    await scene.pool.query('delete from onceward.inbox')
    await scene.pool.query(
      'insert into onceward.horizon (consumer_id, purged_before, purged_count) select id, clock_timestamp(), 3 from onceward.consumer',
    )
    const replay = await scene.replay(scene.contract())
    const id = await scene.planned(replay, { mode: 'rebuild', selection })
    await replay.run(id)
    await verifyCampaign(scene.pool, id)
    await assert.rejects(replay.swap(id), /3 messages .* is unknown.*--accept-unknown/)
    await replay.swap(id, { acceptUnknown: true })
    await assertAll(scene, ids(facts(3)))
  })

  test('of a consumer without external effects may be before live, without a loss', async t => {
    const scene = await Scene.open(t)
    const silent: Changes = {
      effect: {},
      async handle({ message, tx, mode }) {
        await tx.query('insert into effect (id, mode) values ($1, $2)', [message.id, mode])
      },
    }
    await scene.write(...facts(3))
    await scene.live(scene.contract(silent))
    await scene.write(...facts(4, 'later'))
    const { replay, id } = await rebuilt(scene, silent)
    assert.equal((await replay.swap(id)).messages, 4)
    await scene.live(scene.contract(silent))
    assert.deepEqual(await applied(scene), ids(facts(3), facts(4, 'later')))
  })
})

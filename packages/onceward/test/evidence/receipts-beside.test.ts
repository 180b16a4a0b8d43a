import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { defineConsumer, projection, runConsumer, type SqlTransaction } from 'onceward'
import { createPool, createQueue, migrate, postgresQueue, publish } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { explain } from '../../src/evidence/explain.ts'
import { libraries } from '../adapters/libraries.ts'
import { openEffects, startConsumer } from '../adapters/rig.ts'
import { facts, Scene } from '../replay/scene.ts'
import { createDatabase, skipWithout } from '../services/services.ts'

const kept = `select (facts->'id')::text as ids, facts->>'mode' as mode, facts->>'campaign' as campaign from onceward.receipt order by at`

describe('receipts beside other parts', await skipWithout('postgres'), () => {
  for (const library of libraries)
    test(`are written by the store of ${library.name}`, async () => {
      await using database = await openEffects()
      await using consumer = await startConsumer(database.url, library as never, {
        identity: { id: m => m.id, type: () => 'JobAdded' },
      })
      const ids = ['j1', 'j2', 'j3']
      consumer.publish(...ids)
      await consumer.settled()
      assert.deepEqual(await database.effects(), ids)
      const answers = await ask(database.pool, 'j2')
      assert.deepEqual([answers.decision, answers['event type']], ['applied', 'JobAdded'])
    })

  test('of a message whose `after` fails once are found, and its neighbour has one', async t => {
    const { pool, url } = await openStore(t)
    await pool.query('create table view (id text primary key, version bigint not null, name text)')
    let failures = 1
    const consumer = defineConsumer<{ id: string; version: number }, SqlTransaction>({
      name: 'viewing',
      owner: 'tests',
      risk: 'money',
      source: postgresQueue('viewing'),
      identity: { id: { property: 'messageId' }, type: () => 'Viewed' },
      failure: { delayMs: 1, delayMaxMs: 1 },
      effect: {
        apply: projection<{ id: string; version: number }>({
          table: 'view',
          key: { id: 'id' },
          version: { version: 'version' },
          columns: { name: 'id' },
          gap: 'accept latest',
          after({ envelope }) {
            if (envelope.id === 'a1' && failures-- > 0) throw new Error('not yet')
          },
        }),
      },
    })
    await createQueue(pool, 'viewing')
    await publish(
      pool,
      'viewing',
      ['a1', 'a2'].map(id => ({ body: { id, version: 1 }, properties: { messageId: id } })),
    )
    const running = await runConsumer(consumer, { databaseUrl: url })
    const applied = `select from onceward.inbox where status = 'applied'`
    await until('both are applied', async () => (await pool.query(applied)).rows.length === 2)
    await running.drain()
    for (const id of ['a1', 'a2']) {
      const answers = await ask(pool, id)
      assert.deepEqual([answers.decision, answers['event type']], ['applied', 'Viewed'], id)
    }
    const { rows } = await pool.query(kept)
    assert.equal(rows.filter(({ ids }) => ids.includes('a2')).length <= 2, true)
  })

  test('are not written by a forensic campaign, and name the rebuild that wrote them', async t => {
    const scene = await Scene.open(t)
    const consumer = scene.contract({ evidence: { receipts: true } })
    await scene.write(...facts(5))
    await scene.live(consumer)
    const live = await scene.rows(kept)
    assert.ok(live.length > 0 && live.every(({ mode }) => mode === 'live'))
    const replay = await scene.replay(consumer)
    await replay.run(await scene.planned(replay, { mode: 'forensic' }))
    assert.deepEqual(await scene.rows(kept), live)
    const id = await scene.planned(replay, { mode: 'rebuild' })
    await replay.run(id)
    const rebuilt = (await scene.rows(kept)).slice(live.length)
    assert.ok(rebuilt.length > 0)
    for (const row of rebuilt) assert.deepEqual([row.mode, row.campaign], ['rebuild', id])
  })

  test('of a repeat in a batch of new messages do not hide the first one', async t => {
    const { pool, url } = await openStore(t)
    await createQueue(pool, 'repeating')
    const consumer = defineConsumer<{ id: string; from: string }, SqlTransaction>({
      name: 'repeating',
      owner: 'tests',
      risk: 'money',
      source: postgresQueue('repeating'),
      identity: { id: { property: 'messageId' }, correlationId: { header: 'round' } },
      handle: () => {},
    })
    const send = (round: string, ...ids: string[]) =>
      publish(
        pool,
        'repeating',
        ids.map(id => ({ body: {}, headers: { round }, properties: { messageId: id } })),
      )
    await send('first', 'm1', 'm2')
    const first = await runConsumer(consumer, { databaseUrl: url })
    const markers = async () => (await pool.query('select from onceward.inbox')).rows.length
    await until('both are applied', async () => (await markers()) === 2)
    await first.drain()
    await send('second', 'm1', 'm2', 'm3')
    const second = await runConsumer(consumer, { databaseUrl: url })
    await until('the new one is applied', async () => (await markers()) === 3)
    await second.drain()
    assert.equal((await ask(pool, 'm1'))['correlation id'], 'first')
    assert.equal((await ask(pool, 'm3'))['correlation id'], 'second')
  })
})

async function ask(pool: ReturnType<typeof createPool>, id: string): Promise<Record<string, string | null>> {
  const { stories } = await explain(pool, { by: 'message', id })
  return Object.fromEntries(stories[0]!.answers.map(({ asked, answer }) => [asked, answer]))
}

async function openStore(t: TestContext) {
  const database = await createDatabase()
  const pool = createPool(database.url, { max: 2 })
  t.after(async () => {
    await pool.end()
    await database.drop()
  })
  await migrate(pool)
  return { pool, url: database.url }
}

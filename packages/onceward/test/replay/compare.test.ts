import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { park } from 'onceward'
import { verifyCampaign } from '../../src/replay/campaign/steer-campaign.ts'
import { skipWithout } from '../services/services.ts'
import { facts, Scene } from './scene.ts'

async function rebuilt(t: Parameters<typeof Scene.open>[0]) {
  const scene = await Scene.open(t)
  const consumer = scene.contract()
  await scene.write(...facts(20))
  await scene.live(consumer)
  const replay = await scene.replay(consumer)
  const id = await scene.planned(replay, { mode: 'rebuild' })
  await replay.run(id)
  await verifyCampaign(scene.pool, id)
  return { scene, consumer, replay, id }
}

const same = {
  onlyInLive: 0,
  onlyInShadow: 0,
  different: 0,
  ahead: 0,
  besideSetAside: 0,
  generated: [],
  examples: [],
}

describe('a rebuild compared row by row', await skipWithout('postgres'), () => {
  test('finds rows that are missing, too many or different, and refuses the swap unless that is accepted by name', async t => {
    const { scene, replay, id } = await rebuilt(t)
    assert.deepEqual(await replay.compare(id), [{ table: 'public.effect', ...same }])
    await scene.pool.query(`insert into effect (id, mode) values ('by hand', 'x')`)
    await scene.pool.query(`delete from effect where id = 'f00003'`)
    await scene.pool.query(`update effect set times = 2 where id in ('f00001', 'f00002')`)
    const found = {
      table: 'public.effect',
      ...{ onlyInLive: 1, onlyInShadow: 1, different: 2, ahead: 0, besideSetAside: 0, generated: [] },
      examples: [
        { how: 'only in live', key: { id: 'by hand' } },
        { how: 'different', key: { id: 'f00001' } },
        { how: 'different', key: { id: 'f00002' } },
        { how: 'only in shadow', key: { id: 'f00003' } },
      ],
    }
    assert.deepEqual(await replay.compare(id), [found])
    await assert.rejects(
      replay.swap(id),
      /public.effect: 1 rows only live, 1 only rebuilt, 2 different, such as {"id":"by hand"}/,
    )
    await assert.rejects(
      replay.swap(id, { accept: { effect: ' ' } }),
      /accept the table by name with a reason/,
    )
    await assert.rejects(replay.swap(id, { accept: { other: 'why not' } }), /accept the table by name/)
    const swap = await replay.swap(id, { accept: { effect: 'incident 214' } })
    assert.deepEqual(swap.compared, [found])
    const [kept] = await scene.rows('select compared from onceward.campaign where id = $1', id)
    assert.deepEqual(kept, { compared: { tables: [found], accepted: { effect: 'incident 214' } } })
  })

  test('ignores rows that only one side has reached', async t => {
    const { scene, consumer, replay, id } = await rebuilt(t)
    await scene.write(...facts(7, 'live'))
    await scene.live(consumer)
    assert.deepEqual(await replay.compare(id), [{ table: 'public.effect', ...same, ahead: 7 }])
    await scene.write(...facts(3, 'unread'))
    const { compared } = await replay.swap(id)
    assert.deepEqual(compared, [{ table: 'public.effect', ...same, ahead: 0 }])
  })

  test('reports a difference from a message that live has set aside and the rebuild has applied', async t => {
    const scene = await Scene.open(t)
    const right = scene.contract()
    const aside = (id: string) => (id === 'f00003' ? park('not today') : undefined)
    await scene.write(...facts(8))
    await scene.live(
      scene.contract({ handle: context => aside(context.message.id) ?? right.handle!(context) }),
    )
    const wrong = scene.contract({
      effect: {},
      async handle({ message, tx }) {
        await tx.query(`insert into effect (id, mode, times) values ($1, 'x', 100)`, [message.id])
      },
    })
    const replay = await scene.replay(wrong)
    const id = await scene.planned(replay, { mode: 'rebuild' })
    await replay.run(id)
    await verifyCampaign(scene.pool, id)
    const [found] = await replay.compare(id)
    assert.deepEqual(
      [found!.onlyInShadow, found!.different, found!.ahead, found!.besideSetAside],
      [1, 7, 0, 8],
    )
    await assert.rejects(replay.swap(id), /1 only rebuilt, 7 different \(8 written together with messages/)
  })

  test('reports differences of messages whose live markers retention has removed', async t => {
    const { scene, replay, id } = await rebuilt(t)
    await scene.pool.query(`update effect set times = 7 where id = 'f00001'`)
    const liveId = `(select min(id) from onceward.consumer)`
    await scene.pool.query(`delete from onceward.inbox where consumer_id = ${liveId}`)
    await scene.pool.query(
      `insert into onceward.horizon (consumer_id, purged_before, purged_count) values (${liveId}, clock_timestamp(), 20)`,
    )
    const { different, ahead } = (await replay.compare(id))[0]!
    assert.deepEqual([different, ahead], [1, 0])
    await assert.rejects(replay.swap(id), /1 different/)
    await scene.pool.query(`update effect set times = 1 where id = 'f00001'`)
    await scene.write(...facts(3, 'unread'))
    const { compared } = await replay.swap(id)
    assert.deepEqual(compared, [{ table: 'public.effect', ...same, ahead: 0 }])
  })

  test('refuses a declared key that several rows share', async t => {
    const scene = await Scene.open(t)
    await scene.pool.query('alter table effect drop constraint effect_pkey')
    await scene.pool.query('create index on effect (id)')
    await scene.pool.query(`insert into effect (id, mode) values ('twice', 'x'), ('twice', 'x')`)
    await scene.write(...facts(3))
    const compare = { effect: { key: ['id'] } }
    const consumer = scene.contract({ replay: { modes: ['rebuild'], tables: ['effect'], compare } })
    await assert.rejects(
      scene.planned(await scene.replay(consumer), { mode: 'rebuild' }),
      /Several rows of public\.effect/,
    )
  })

  test('detects changes between the first comparison and the lock', async t => {
    const { scene, replay, id } = await rebuilt(t)
    const holder = await scene.pool.connect()
    await holder.query('begin')
    await holder.query(`update effect set times = 9 where id = 'f00001'`)
    const refused = assert.rejects(replay.swap(id), /1 different/)
    for (;;) {
      const waiting = await scene.rows(
        `select from pg_locks where not granted and mode = 'AccessExclusiveLock' and database = (select oid from pg_database where datname = current_database())`,
      )
      if (waiting.length > 0) break
    }
    await holder.query('commit')
    holder.release()
    await refused
  })

  test('needs columns that identify rows, and names missing ones', async t => {
    const scene = await Scene.open(t)
    await scene.write(...facts(3))
    await scene.pool.query('alter table effect drop constraint effect_pkey')
    const replay = await scene.replay(scene.contract())
    await assert.rejects(
      scene.planned(replay, { mode: 'rebuild' }),
      /no primary key.*replay\.compare\.effect\.key/s,
    )
    const modes = ['rebuild' as const]
    const wrong = scene.contract({
      replay: { modes, tables: ['effect'], compare: { effect: { key: ['id', 'ident'] } } },
    })
    await assert.rejects(scene.planned(await scene.replay(wrong), { mode: 'rebuild' }), /names ident/)
    assert.throws(
      () => scene.contract({ replay: { modes, tables: ['effect'], compare: { efect: {} } } }),
      /replay\.compare\.efect.*not among replay\.tables/s,
    )
  })
})

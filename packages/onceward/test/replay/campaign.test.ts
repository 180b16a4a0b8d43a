import assert from 'node:assert/strict'
import { appendFile } from 'node:fs/promises'
import { describe, test } from 'node:test'
import { file } from 'onceward/file'
import { skipWithout } from '../services/services.ts'
import { facts, Scene } from './scene.ts'

describe('a replay campaign', await skipWithout('postgres'), () => {
  test('of applied messages has no effect', async t => {
    const scene = await Scene.open(t)
    const consumer = scene.contract()
    await scene.write(...facts(200))
    await scene.live(consumer)
    const replay = await scene.replay(consumer)
    const id = await scene.planned(replay)
    const campaign = await replay.run(id)
    assert.equal(campaign.state, 'ran')
    assert.deepEqual(await scene.outcomes(id), { duplicate: 200 })
    assert.deepEqual(await scene.rows('select max(times) as most, count(*)::int as n from effect'), [
      { most: 1, n: 200 },
    ])
    assert.deepEqual(await scene.rows('select from onceward.suppressed_effect'), [])
    assert.deepEqual(await scene.rows('select count(*)::int as n from onceward.ledger'), [{ n: 200 }])
  })

  test('of keys that a whole partition lacks runs to its end', async t => {
    const scene = await Scene.open(t)
    const consumer = scene.contract({ source: file(`${scene.path}*`, { until: 'end' }) })
    await scene.write({ id: 'mine', key: 'k1' })
    await appendFile(`${scene.path}.other`, `${JSON.stringify({ id: 'other', key: 'k2' })}\n`)
    await scene.live(consumer)
    const replay = await scene.replay(consumer)
    const id = await scene.planned(replay, {
      mode: 'repair',
      selection: { of: 'log', start: 'first', end: 'next', keys: ['k1'] },
    })
    const campaign = await replay.run(id)
    assert.equal(campaign.state, 'ran')
    assert.deepEqual(await scene.outcomes(id), { duplicate: 1 })
  })

  test('applies exactly the missing messages, in its mode, and records what it suppressed', async t => {
    const scene = await Scene.open(t)
    const consumer = scene.contract()
    await scene.write(...facts(100))
    await scene.live(consumer)
    await scene.pool.query(`delete from onceward.inbox where message_id in ('f00003', 'f00050', 'f00099')`)
    await scene.pool.query(`delete from effect where id in ('f00003', 'f00050', 'f00099')`)
    await scene.pool.query('delete from onceward.ledger; delete from onceward.outbox')
    const replay = await scene.replay(consumer)
    const id = await scene.planned(replay)
    await replay.run(id)
    assert.deepEqual(await scene.outcomes(id), { applied: 3, duplicate: 97 })
    assert.deepEqual(await scene.applied('replay'), ['f00003', 'f00050', 'f00099'])
    assert.deepEqual(await scene.rows('select max(times) as most from effect'), [{ most: 1 }])
    const would = await scene.rows(
      'select kind, target, message_id from onceward.suppressed_effect order by kind, message_id',
    )
    assert.deepEqual(
      would.map(row => Object.values(row).join(' ')),
      [
        'external gateway f00003',
        'external gateway f00050',
        'external gateway f00099',
        'publish postgres/out f00003',
        'publish postgres/out f00050',
        'publish postgres/out f00099',
      ],
    )
    assert.deepEqual(
      await scene.rows('select from onceward.ledger union all select from onceward.outbox'),
      [],
    )
    const [run] = await scene.rows(
      'select mode, campaign_id::text as campaign from onceward.run order by id desc limit 1',
    )
    assert.deepEqual(run, { mode: 'replay', campaign: id })
  })
})

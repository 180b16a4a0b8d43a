import assert from 'node:assert/strict'
import { appendFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { ignore } from 'onceward'
import { campaignFindings, verifyCampaign } from '../../src/replay/campaign/steer-campaign.ts'
import { skipWithout } from '../services/services.ts'
import { archiveDead, buried, dieArchiving, folderOf, givingUp, parkingAll } from './archive-scene.ts'
import { endLease, runChild } from './kill.ts'
import { type FactContract, factContract, facts, Scene } from './scene.ts'

const mode = 'replay' as const
const selectionOf = (scene: Scene) => ({ of: 'archive' as const, path: folderOf(scene) })

describe('a campaign from the archive', await skipWithout('postgres'), () => {
  test('applies dead letters once, although retention crashed and archived them twice', async t => {
    const scene = await Scene.open(t)
    await scene.write({ id: 'parked' })
    await scene.live(scene.contract({ handle: parkingAll }))
    const ofParked = await scene.replay(scene.contract({ handle: givingUp('parked') }))
    await ofParked.run(await scene.planned(ofParked, { selection: { of: 'parked' } }))
    await buried(scene, { id: 'one' }, { id: 'two' })
    await scene.write({ id: 'fine' })
    await scene.live(scene.contract())
    await dieArchiving(scene)
    await archiveDead(scene)
    assert.deepEqual(await scene.rows('select from onceward.held'), [])

    const replay = await scene.replay(scene.contract())
    const selection = selectionOf(scene)
    const looked = await scene.planned(replay, { mode: 'forensic', selection })
    await replay.run(looked)
    assert.deepEqual(await scene.outcomes(looked), { applied: 3 }, 'they are missing')
    const findings = await campaignFindings(scene.pool, looked, 10)
    assert.deepEqual(
      findings.map(({ messageId }) => messageId),
      ['one', 'parked', 'two'],
    )
    assert.deepEqual(await scene.applied(mode), [])

    const repaired = await scene.planned(replay, {
      mode: 'repair',
      selection: { ...selection, keys: ['two'] },
    })
    await replay.run(repaired)
    assert.deepEqual(await scene.outcomes(repaired), { applied: 1 })
    const { id } = await replay.create({ mode, selection, reason: 'a test' })
    const { plan, extent } = await replay.preview(id)
    assert.deepEqual(plan.archive!.leftOut, [{ what: 'rows that were archived more than once', count: 3 }])
    assert.deepEqual([plan.archive!.files.length, extent, plan.unit], [2, 6, 'rows'])
    await replay.run(id)
    assert.deepEqual(await scene.outcomes(id), { applied: 2, duplicate: 1 })
    assert.deepEqual(await scene.applied(mode), ['one', 'parked'])
    assert.equal((await verifyCampaign(scene.pool, id)).complete, true)
    const again = await scene.planned(replay, { mode, selection })
    await replay.run(again)
    assert.deepEqual(await scene.outcomes(again), { duplicate: 3 })
    assert.deepEqual(await scene.rows('select max(times) as most from effect'), [{ most: 1 }])
  })

  test('skips messages that still have a row, were applied since, or may have been applied before', async t => {
    const scene = await Scene.open(t)
    await buried(scene, { id: 'held' }, { id: 'since' })
    await dieArchiving(scene)
    await scene.pool.query(`delete from onceward.held where message_id = 'since'`)
    await scene.pool.query(`update onceward.inbox set status = 'applied' where message_id = 'since'`)
    await scene.pool.query(
      `insert into onceward.held (consumer_id, run_id, state, message_id, digest, origin, delivery_count, headers, properties, body, code)
       select consumer_id, 1, 'quarantined', 'since', '\\x01' || sha256('x'), 'q', 0, '{}', '{}', '{"id":"since"}', 'conflict' from onceward.held limit 1`,
    )
    await dieArchiving(scene)
    await scene.pool.query(`delete from onceward.held where code = 'conflict'`)
    const replay = await scene.replay(scene.contract())
    const selection = selectionOf(scene)
    const { id } = await replay.create({ mode, selection, reason: 'a test' })
    const { plan } = await replay.preview(id)
    assert.deepEqual(plan.archive!.leftOut, [
      { what: 'rows that were archived more than once', count: 1 },
      { what: 'rows that may have been applied before (conflict), for forensic and rebuild only', count: 1 },
    ])
    await replay.run(id)
    assert.deepEqual(await scene.outcomes(id), { duplicate: 2 })
    assert.deepEqual(await scene.rows('select from effect'), [])
    const looked = await scene.planned(replay, { mode: 'forensic', selection })
    await replay.run(looked)
    assert.deepEqual(await scene.outcomes(looked), { duplicate: 2, quarantined: 1 })
  })

  test('skips messages that still have a row, also with markers in days', async t => {
    const scene = await Scene.open(t)
    const hex = Date.now().toString(16).padStart(12, '0')
    const gone = `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`
    await buried(scene, { id: gone }, { id: 'held' })
    await dieArchiving(scene)
    await scene.pool.query(`delete from onceward.held where message_id = $1`, [gone])
    // Each is the first in its table then.
    await scene.pool.query(
      `select onceward.build_days(id, 'uuidv7', current_date - 1) from onceward.consumer`,
    )
    await scene.pool.query(`select onceward.attach_days(id) from onceward.consumer`)
    const replay = await scene.replay(scene.contract())
    const id = await scene.planned(replay, { mode, selection: selectionOf(scene) })
    await replay.run(id)
    assert.deepEqual(await scene.outcomes(id), { applied: 1, duplicate: 1 })
    assert.deepEqual(await scene.applied(mode), [gone])
  })

  test('finds the effect of a dead letter in tables that were swapped in, until they are rolled back', async t => {
    const scene = await Scene.open(t)
    await buried(scene, { id: 'dead' })
    await archiveDead(scene)
    await scene.write({ id: 'ignored' })
    await scene.live(scene.contract({ handle: () => ignore('not ours') }))
    const replay = await scene.replay(scene.contract())
    const rebuilt = await scene.planned(replay, { mode: 'rebuild' })
    await replay.run(rebuilt)
    await verifyCampaign(scene.pool, rebuilt)
    await replay.swap(rebuilt, { accept: { effect: 'it was empty' } })
    const effects = 'select id, times from effect order by id'
    const once = ['dead', 'ignored'].map(id => ({ id, times: 1 }))
    assert.deepEqual(await scene.rows(effects), once)
    const again = async () => {
      const archived = await scene.planned(replay, { mode, selection: selectionOf(scene) })
      await replay.run(archived)
      const selection = {
        of: 'log' as const,
        start: 'first' as const,
        end: 'next' as const,
        keys: ['ignored'],
      }
      const repaired = await scene.planned(replay, { mode: 'repair', selection })
      await replay.run(repaired)
      return [await scene.outcomes(archived), await scene.outcomes(repaired)]
    }
    assert.deepEqual(await again(), [{ duplicate: 1 }, { duplicate: 1 }])
    assert.deepEqual(await scene.rows(effects), once)
    await replay.rollBack(rebuilt)
    assert.deepEqual(await again(), [{ applied: 1 }, { applied: 1 }])
    assert.deepEqual(await scene.rows(effects), once)
  })

  test('finds it there although they are swapped in while it is applied', async t => {
    const scene = await Scene.open(t)
    await buried(scene, { id: 'dead' })
    await archiveDead(scene)
    const replay = await scene.replay(scene.contract())
    const rebuilt = await scene.planned(replay, { mode: 'rebuild' })
    await replay.run(rebuilt)
    await verifyCampaign(scene.pool, rebuilt)
    let swaps = 0
    const handle: FactContract['handle'] = async context => {
      if (swaps++ === 0) await replay.swap(rebuilt, { accept: { effect: 'it was empty' } })
      await factContract('').handle!(context)
    }
    const beside = await scene.replay(scene.contract({ handle }))
    const id = await scene.planned(beside, { mode, selection: selectionOf(scene) })
    await beside.run(id)
    assert.deepEqual([swaps, await scene.outcomes(id)], [1, { duplicate: 1 }])
    assert.deepEqual(await scene.rows('select id, times from effect'), [{ id: 'dead', times: 1 }])
  })

  test('leaves a dead letter unchanged while it is to be retried', async t => {
    const scene = await Scene.open(t)
    await buried(scene, { id: 'dead' })
    await archiveDead(scene)
    const markers = 'select * from onceward.inbox'
    const before = await scene.rows(markers)
    const stop = new AbortController()
    const handle = () => {
      setImmediate(() => stop.abort())
      throw new Error('not now')
    }
    const replay = await scene.replay(
      scene.contract({ handle, failure: { delayMs: 60_000, delayMaxMs: 60_000 } }),
    )
    const id = await scene.planned(replay, { mode, selection: selectionOf(scene) })
    const { state } = await replay.run(id, { signal: stop.signal })
    assert.deepEqual([state, await scene.outcomes(id)], ['paused', {}])
    assert.deepEqual(await scene.rows(markers), before)
  })

  test('is refused before the horizon and when a file has changed, and reads no rows of other consumers', async t => {
    const scene = await Scene.open(t)
    await buried(scene, { id: 'a' }, { id: 'b' })
    await archiveDead(scene)
    const folder = folderOf(scene)
    const [name] = readdirSync(folder).filter(one => one.includes('.deadLetters.')) as [string]
    writeFileSync(join(folder, 'others.deadLetters.1.jsonl'), '{}\n')
    writeFileSync(join(folder, 'facts.markers.1.jsonl'), '{}\n')
    writeFileSync(join(folder, 'notes.txt'), 'x')
    const replay = await scene.replay(scene.contract())
    const selection = selectionOf(scene)
    const id = await scene.planned(replay, { mode, selection })
    const { plan } = await replay.preview(id)
    assert.deepEqual(
      new Set(plan.archive!.leftOut.map(({ what, count }) => `${count} ${what}`)),
      new Set([
        '1 files of other consumers',
        '1 files of markers, which hold no message',
        '1 files whose name is not one of an archive',
      ]),
    )
    const anew = await scene.replay(scene.contract({ generation: 2 }))
    const { id: ofTwo } = await anew.create({ mode, selection, reason: 'a test' })
    await assert.rejects(anew.preview(ofTwo), /no message for this campaign: .*2 rows of other generations/)

    const bytes = readFileSync(join(folder, name))
    appendFileSync(join(folder, name), bytes)
    writeFileSync(
      join(folder, name),
      bytes.map((byte, n) => (n === 5 ? byte ^ 1 : byte)),
    )
    await assert.rejects(replay.run(id), new RegExp(`${name} has changed since the preview`))
    writeFileSync(join(folder, name), Buffer.concat([bytes, bytes]))

    await scene.pool.query(
      `insert into onceward.horizon (consumer_id, purged_before, purged_count) select id, now(), 1 from onceward.consumer where generation = 1`,
    )
    await assert.rejects(replay.run(id), /includes messages whose markers were removed/)
    assert.deepEqual(await scene.rows('select from effect'), [])
    const looked = await scene.planned(replay, {
      mode: 'forensic',
      selection: { ...selection, path: join(folder, name) },
    })
    await replay.run(looked)
    assert.deepEqual(await scene.outcomes(looked), { applied: 2 })
    const rebuilt = await scene.planned(replay, { mode: 'rebuild', selection })
    await replay.run(rebuilt)
    assert.deepEqual(await scene.outcomes(rebuilt), { applied: 2 })
    await scene.pool.query(`update onceward.horizon set purged_before = now() - interval '3 days'`)
    const { state } = await replay.run(id)
    assert.deepEqual(
      [state, await scene.outcomes(id)],
      ['ran', { applied: 2 }],
      'what was appended is left alone',
    )
  })

  test('continues exactly where it was killed', async t => {
    const scene = await Scene.open(t)
    await buried(scene, ...facts(60))
    await dieArchiving(scene)
    await archiveDead(scene)
    const selection = selectionOf(scene)
    const id = await scene.planned(await scene.replay(scene.contract()), { mode, selection, rateMax: 200 })
    const orders = { databaseUrl: scene.url, path: scene.path, id, step: 'run' } as const
    const witness = `${scene.path}.witness`
    assert.equal(
      await runChild({ ...orders, dieAt: { point: 'batch.committed', hit: 3, witness } }),
      'SIGKILL',
    )
    assert.ok(existsSync(witness))
    const { applied } = await scene.outcomes(id)
    assert.ok(applied! >= 30 && applied! < 60, `${applied} of 60`)
    await endLease(scene)
    assert.equal(await runChild({ ...orders, dieAt: null }), 0)
    assert.deepEqual(await scene.outcomes(id), { applied: 60 })
    assert.deepEqual(await scene.rows('select count(*)::int, max(times) from effect'), [
      { count: 60, max: 1 },
    ])
    assert.equal((await verifyCampaign(scene.pool, id)).complete, true)
  })
})

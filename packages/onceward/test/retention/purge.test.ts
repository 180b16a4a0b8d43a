import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { realEnvironment } from 'onceward'
import { planPurge } from '../../src/operations/retention/plan-purge.ts'
import { purgeConsumer } from '../../src/operations/retention/purge-consumer.ts'
import { readRetention } from '../../src/telemetry/read-status.ts'
import { People } from '../parking/people.ts'
import { skipWithout } from '../services/services.ts'
import { day, memoryScene, purge, purgeOptions } from './scene.ts'

describe('what retention removes', await skipWithout('postgres'), () => {
  test('is removed when it is older than its term, and the horizon moves', async () => {
    await using scene = await memoryScene()
    await scene.markers('old-', 5_000, 31)
    await scene.markers('young-', 500, 29)
    await scene.markers('others-', 50, 400, 'applied', scene.otherId)
    assert.equal(await scene.horizon(), undefined)
    const planned = await planPurge(scene.pool, scene.consumerId, purgeOptions(scene).retention)
    assert.equal(planned.find(one => one.kind === 'markers')!.rows, 5_000)
    assert.equal(await scene.horizon(), undefined, 'a plan changes nothing')

    const { removed, ended } = await purge(scene)
    assert.equal(ended, null)
    assert.equal(removed.markers, 5_000)
    assert.deepEqual([await scene.left('old-'), await scene.left('young-')], [0, 500])
    const { rows } = await scene.pool.query(
      'select count(*)::int from onceward.inbox where consumer_id = $1',
      [scene.otherId],
    )
    assert.equal(rows[0].count, 50, "nothing of another consumer's")
    const horizon = (await scene.horizon())!
    assert.equal(horizon.purged_count, 5_000)
    assert.ok(Math.abs(horizon.purged_before.getTime() - (Date.now() - 30 * day)) < 60_000)
  })

  test('is removed with the rights of a consumer, except the audit, which only the owner can remove', async () => {
    await using scene = await memoryScene()
    await scene.pool.query('select onceward.create_roles()')
    await scene.markers('old-', 10, 31)
    await scene.pool.query(
      `insert into onceward.held_action (held_id, consumer_id, at, reason, action) values (7, $1, now() - interval '1 year', 'x', 'released')`,
      [scene.consumerId],
    )
    const people = new People(scene.pool, scene.url)
    try {
      const { pool } = await people.login(['onceward_run'], { person: false })
      const byConsumer = await purgeConsumer({ ...purgeOptions(scene), pool })
      assert.deepEqual([byConsumer.ended, byConsumer.removed.markers], [null, 10])
      assert.equal((await purge(scene)).removed.heldActions, 1)
    } finally {
      await people.close()
    }
  })

  test('is finished: what is stored, waits, is parked or has its bytes kept never loses its marker', async () => {
    await using scene = await memoryScene()
    for (const status of ['stored', 'waiting', 'parked', 'dead', 'quarantined'])
      await scene.markers(`${status}-`, 3, 900, status)
    for (const state of ['dead', 'quarantined'])
      for (const n of [1, 2, 3]) await scene.held(`${state}-0000000${n}`, state, 900)
    await scene.markers('done-', 3, 900)
    assert.equal((await purge(scene)).removed.markers, 3)
    assert.equal(await scene.left(), 15)

    await scene.held('head', 'quarantined', 900)
    await scene.pool.query(`update onceward.held set order_key = 'k' where message_id = 'head'`)
    await scene.pool.query(`insert into onceward.blocked_key (consumer_id, key) values ($1, 'k')`, [
      scene.consumerId,
    ])
    const later = await purge(scene, { markers: '30d', deadLetters: '90d' })
    assert.equal(later.removed.deadLetters, 6, 'not the head of a blocked key')
    assert.equal((await purge(scene)).removed.markers, 6, 'the dead go once their bytes are gone')
    assert.equal(await scene.left(), 9)
  })

  test('stays from the oldest unfinished message on', async () => {
    await using scene = await memoryScene()
    await scene.markers('before-', 10, 60)
    await scene.markers('since-', 10, 45)
    await scene.held('parked-1', 'parked', 50)
    assert.equal((await purge(scene)).removed.markers, 10)
    assert.deepEqual([await scene.left('before-'), await scene.left('since-')], [0, 10])
    const [planned] = await planPurge(scene.pool, scene.consumerId, purgeOptions(scene).retention)
    assert.equal(planned!.heldBack, true)
  })

  test('of business keys, notes, attempts and completed effects has its own term', async () => {
    await using scene = await memoryScene()
    const { pool, consumerId } = scene
    await scene.markers('m-', 4, 100)
    await scene.markers('open-', 1, 100, 'parked')
    const aged = (days: number) => `clock_timestamp() - interval '${days} days'`
    for (const [id, days] of [
      ['m-00000001', 100],
      ['m-00000002', 40],
      ['open-00000001', 100],
    ] as const) {
      await pool.query(
        `insert into onceward.business_key (consumer_id, at, key, message_id) values ($1, ${aged(days)}, $2, $2)`,
        [consumerId, id],
      )
      await pool.query(
        `insert into onceward.note (consumer_id, at, message_id, code, detail) values ($1, ${aged(days)}, $2, 'stale', '')`,
        [consumerId, id],
      )
      for (const number of [1, 2])
        await pool.query(
          `insert into onceward.attempt (consumer_id, message_id, number, run_id, at, failure_class, code, error)
           values ($1, $2, ${number}, 1, ${aged(number === 1 ? 300 : days)}, 'transient', 'x', '')`,
          [consumerId, id],
        )
    }
    await pool.query(
      `insert into onceward.ledger (consumer_name, target, effect_key, state, run_id, message_id, request_digest, content_type, body, completed_at)
       select 'remembering', 't', 'k' || n, state::onceward.effect_state, 1, 'm', '', '', '', ${aged(100)}
       from unnest(array['completed', 'unknown', 'failed', 'pending']) with ordinality as one (state, n)`,
    )
    await pool.query(
      `insert into onceward.ledger (consumer_name, target, effect_key, state, run_id, message_id, request_digest, content_type, body, completed_at)
       values ('other', 't', 'k', 'completed', 1, 'm', '', '', '', ${aged(100)})`,
    )
    const terms = { markers: '30d', businessKeys: '60d', notes: '20d', attempts: '60d', effects: '60d' }
    const { removed } = await purge(scene, terms)
    assert.deepEqual(removed, {
      markers: 4,
      businessKeys: 1,
      notes: 2,
      attempts: 2,
      effects: 1,
      receipts: 0,
      suppressedEffects: 0,
      heldActions: 0,
    })
    assert.equal(await scene.left('open-', 'business_key'), 1)
    assert.equal(await scene.left('open-', 'attempt'), 2)
    assert.equal(await scene.left('m-00000002', 'attempt'), 2, 'none while the last of them is young')
  })

  test('of suppressed effects and of acts is removed with its subject, by its own term', async () => {
    await using scene = await memoryScene()
    const { pool, consumerId } = scene
    await pool.query(
      `insert into onceward.campaign (consumer_name, generation, live_generation, risk, mode, selection, reason)
       select name, 1, 1, 'money', 'replay', '{}', 'a test' from unnest(array['remembering', 'remembering', 'other']) as name;
       update onceward.campaign set state = 'cancelled' where id in (1, 3);
       insert into onceward.suppressed_effect (campaign_id, kind, target, key, message_id, digest, at)
       select c.id, 'call', 't', days::text, 'm', '', clock_timestamp() - days * interval '1 day'
       from onceward.campaign c, unnest(array[10, 100]) as days`,
    )
    await scene.held('kept', 'dead', 100)
    await pool.query(
      `insert into onceward.held_action (held_id, reason, action, at)
         select id, 'x', 'y', clock_timestamp() - interval '100 days' from onceward.held;
       insert into onceward.held_action (held_id, consumer_id, reason, action, at)
         select 777, ${consumerId}, 'x', 'y', clock_timestamp() - days * interval '1 day' from unnest(array[10, 100]) as days`,
    )
    const { removed } = await purge(scene, { markers: '60d', suppressedEffects: '30d', heldActions: '20d' })
    assert.deepEqual([removed.suppressedEffects, removed.heldActions], [1, 1])
    const left = await pool.query(
      'select campaign_id::int as id, key from onceward.suppressed_effect order by 1, 2',
    )
    assert.deepEqual(
      left.rows.map(row => `${row.id} ${row.key}`),
      ['1 10', '2 10', '2 100', '3 10', '3 100'],
    )
    const audit = await pool.query(`select count(*)::int as n from onceward.audit`)
    assert.ok(audit.rows[0].n > 0)
  })

  test('is written to the archive before it is removed, plain or compressed', async () => {
    for (const gzip of [false, true]) {
      await using scene = await memoryScene()
      const folder = mkdtempSync(join(tmpdir(), 'onceward-archive-'))
      await scene.markers('old-', 3_000, 40)
      await scene.held('dead', 'dead', 40)
      const section = { markers: '30d', deadLetters: '30d', action: 'archive' as const }
      await assert.rejects(purgeConsumer(purgeOptions(scene, section)), { code: 'configuration' })
      assert.equal(await scene.left(), 3_000)
      await purgeConsumer({ ...purgeOptions(scene, section), archive: { folder, gzip } })
      assert.equal(await scene.left(), 0)
      const files = readdirSync(folder).sort()
      assert.match(
        files.join(),
        gzip ? /^\S+\.\d+\.jsonl\.gz,\S+\.jsonl\.gz$/ : /^\S+\.\d+\.jsonl,\S+\.jsonl$/,
      )
      const [letters, rows] = ['remembering.deadLetters.', 'remembering.markers.'].map((kind, n) => {
        assert.ok(files[n]!.startsWith(kind), files[n])
        const bytes = readFileSync(join(folder, files[n]!))
        const lines = (gzip ? gunzipSync(bytes) : bytes).toString().trimEnd().split('\n')
        return lines.map(line => JSON.parse(line) as Record<string, unknown>)
      }) as [Record<string, unknown>[], Record<string, unknown>[]]
      const { consumer, generation, message_id, broker_key, headers, body } = letters[0]!
      assert.deepEqual(
        [consumer, generation, message_id, broker_key, headers],
        ['remembering', 1, 'dead', null, {}],
      )
      assert.equal(Buffer.from(String(body), 'base64').toString(), 'x', 'a whole message')
      assert.equal(new Set(rows.map(row => row.message_id)).size, 3_000)
      assert.deepEqual(Object.keys(rows[0]!).sort(), [
        'arrived_at',
        'at',
        'digest',
        'message_id',
        'position',
        'reason',
        'run_id',
        'status',
      ])
      rmSync(folder, { recursive: true })
    }
  })

  test('stays when the archive cannot be written', async () => {
    await using scene = await memoryScene()
    await scene.markers('old-', 100, 40)
    const options = purgeOptions(scene, { markers: '30d', action: 'archive' })
    await assert.rejects(purgeConsumer({ ...options, archive: { folder: '/dev/null/nowhere' } }), /ENOTDIR/)
    assert.equal(await scene.left(), 100)
    assert.equal(await scene.horizon(), undefined)
  })

  test('is removed by one process at a time', async () => {
    await using scene = await memoryScene()
    await scene.markers('old-', 2_000, 40)
    const held = await scene.pool.connect()
    await held.query(`begin; select pg_advisory_xact_lock(${0x72657461}, ${scene.consumerId})`)
    assert.equal((await purge(scene)).ended, 'another process is removing')
    assert.equal(await scene.left(), 2_000)
    await held.query('commit')
    held.release()
    assert.equal((await purge(scene)).ended, null)
  })

  test('and is locked is left for the next pass, without a wait', async () => {
    await using scene = await memoryScene()
    await scene.markers('old-', 1_000, 40)
    const busy = await scene.pool.connect()
    await busy.query(
      `begin; update onceward.inbox set status = 'parked' where message_id in ('old-00000007', 'old-00000700')`,
    )
    assert.equal((await purge(scene)).removed.markers, 998)
    await busy.query('rollback')
    busy.release()
    assert.equal((await purge(scene)).removed.markers, 2)
  })

  test('is no longer removed after a stop', async () => {
    await using scene = await memoryScene()
    await scene.markers('old-', 20_000, 40)
    const stop = new AbortController()
    const { ended } = await purgeConsumer({
      ...purgeOptions(scene),
      signal: stop.signal,
      onProgress: () => stop.abort(),
    })
    assert.equal(ended, 'stopped')
    const left = await scene.left()
    assert.ok(left > 0 && left < 20_000)
    assert.equal((await scene.horizon())!.purged_count, 20_000 - left)
  })

  test('is removed slowly: it works for a share of the time and pauses for the rest', async () => {
    await using scene = await memoryScene()
    await scene.markers('old-', 20_000, 40)
    const real = realEnvironment()
    const pauses: number[] = []
    let nowMs = 0
    const env = {
      ...real,
      // By this one each batch takes as long as the others.
      clock: { nowMs: () => (nowMs += 10) },
      timers: {
        ...real.timers,
        after: (delayMs: number, callback: () => void) => {
          pauses.push(delayMs)
          return real.timers.after(0, callback)
        },
      },
    }
    const { clocks } = purgeOptions(scene)
    await purgeConsumer({ ...purgeOptions(scene, undefined, env), clocks, share: 0.1 })
    assert.ok(pauses.length > 1, `${pauses.length} batches`)
    assert.deepEqual(new Set(pauses), new Set([90]), 'a tenth of the time it works')
  })

  test('does not stop at rows that were written meanwhile', async () => {
    await using scene = await memoryScene()
    await scene.markers('old-', 3_000, 40)
    const written: Promise<void>[] = []
    await purgeConsumer({
      ...purgeOptions(scene),
      onProgress: () => void written.push(scene.markers(`new${written.length}-`, 5, 0)),
    })
    await Promise.all(written)
    assert.ok(written.length > 0)
    assert.equal(await scene.left('new'), 5 * written.length)
    assert.equal(await scene.left('old-'), 0)
  })

  test('is shown with its size and its horizon', async () => {
    await using scene = await memoryScene()
    await scene.markers('old-', 10, 40)
    await purge(scene)
    const status = await readRetention(scene.pool)
    assert.deepEqual(
      status.horizons.map(one => [one.consumer, one.purgedCount]),
      [['remembering', 10]],
    )
    assert.ok(status.tables.some(one => one.table === 'inbox' && one.bytes > 0))
  })
})

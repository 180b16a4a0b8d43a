import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { realEnvironment } from 'onceward'
import { createPool } from 'onceward/postgres'
import { until } from 'onceward/testing'
import type { SqlClient } from '../../src/drivers/postgres/pool.ts'
import { digestOf } from '../../src/message/digest.ts'
import { purgeConsumer } from '../../src/operations/retention/purge-consumer.ts'
import { startCounting } from '../delivery/counting.ts'
import { skipWithout } from '../services/services.ts'
import { type DaysScene, daysScene, idAt, noon } from './days-scene.ts'
import { prepareRemembering, remembering } from './remembering.ts'
import { purgeOptions } from './scene.ts'
import { spawnPurge } from './spawn-purge.ts'

const wide = { markers: '90d', partitions: 'daily' } as const
const claim = `insert into onceward.inbox (consumer_id, run_id, status, message_id, digest)
  values ($1, 1, 'applied', $2, sha256('x')) on conflict do nothing`

describe('dropping a day beside running batches', await skipWithout('postgres'), () => {
  test('an uncommitted marker of the day is not waited for; the next pass drops the day, and the marker stays', async () => {
    await using scene = await daysScene()
    await scene.write(40, 10)
    await scene.partition(wide)
    const id = idAt('uuidv7', noon(40), 99)
    await transaction(scene, async client => {
      assert.equal((await client.query(claim, [scene.consumerId, id])).rowCount, 1)
      const { putOff, removed } = await scene.pass()
      assert.match(putOff!, /locked by another transaction/)
      assert.equal(removed.markers, 0)
    })
    assert.equal((await scene.pass()).removed.markers, 10)
    assert.equal(await scene.tableOf(id), `inbox_${scene.consumerId}_rest`)
  })

  test('an insert while the day is dropped waits, and finds only the markers that stayed', async () => {
    await using scene = await daysScene()
    const [gone] = await scene.write(40, 10)
    const [kept] = await scene.write(40, 1, { appliedAgo: 5, from: 50 })
    await scene.partition(wide)
    const claims: Promise<number | null>[] = []
    const values = [scene.consumerId, new Date(noon(40))]
    await scene.pool.query(
      `select onceward.seal_day($1, $2::date, clock_timestamp() - interval '30 days')`,
      values,
    )
    await transaction(scene, async client => {
      const { rows } = await client.query(
        `select onceward.drop_day($1, $2::date, clock_timestamp() - interval '30 days') as answer`,
        values,
      )
      assert.deepEqual(rows[0].answer, { did: 'dropped', kept: 1, removed: 10 })
      for (const id of [gone, kept])
        claims.push(scene.pool.query(claim, [scene.consumerId, id]).then(answer => answer.rowCount))
      await until('both claims wait', async () => (await waiting(scene)) === 2)
    })
    assert.deepEqual(await Promise.all(claims), [1, 0], 'the first is new again, the second a duplicate')
    assert.equal(await scene.left(), 2)
  })

  test('markers written since the day was scanned keep it, and are found by the next pass', async () => {
    await using scene = await daysScene()
    const [first] = await scene.write(40, 10)
    await scene.partition(wide)
    const { pool, consumerId } = scene
    const values = [consumerId, new Date(noon(40))]
    await pool.query(`select onceward.seal_day($1, $2::date, clock_timestamp() - interval '30 days')`, values)
    // It waits for a moment only, which may be over before anybody has seen it wait.
    await pool.query(`alter function onceward.drop_day set lock_timeout = '60s'`)
    const late = idAt('uuidv7', noon(40), 99)
    let dropping: Promise<unknown> = Promise.resolve()
    await transaction(scene, async client => {
      await client.query(claim, [consumerId, late])
      await client.query(
        `update onceward.inbox set at = clock_timestamp() where consumer_id = $1 and message_id = $2`,
        [consumerId, first],
      )
      dropping = pool
        .query(
          `select onceward.drop_day($1, $2::date, clock_timestamp() - interval '30 days') as answer`,
          values,
        )
        .then(({ rows }) => rows[0].answer)
      await until('it has looked, and waits', async () => (await waiting(scene)) === 1)
    })
    assert.deepEqual(await dropping, { did: 'waits' })
    assert.equal(await scene.left(), 11)
    assert.equal((await scene.pass()).removed.markers, 9)
    for (const id of [first, late]) assert.equal(await scene.tableOf(id!), `inbox_${consumerId}_rest`)
    assert.equal((await pool.query('select count(*)::int from onceward.late_marker')).rows[0].count, 0)
  })

  test('a day is not dropped under a snapshot that may miss newer markers', async () => {
    await using scene = await daysScene()
    await scene.write(40, 10)
    await scene.partition(wide)
    const { pool, consumerId } = scene
    const values = [consumerId, new Date(noon(40))]
    await pool.query(`select onceward.seal_day($1, $2::date, clock_timestamp() - interval '30 days')`, values)
    const late = idAt('uuidv7', noon(40), 99)
    await assert.rejects(
      transaction(scene, async client => {
        await client.query('set transaction isolation level repeatable read; select 1')
        await pool.query(claim, [consumerId, late])
        await client.query(
          `select onceward.drop_day($1, $2::date, clock_timestamp() - interval '30 days')`,
          values,
        )
      }),
      /read committed, not repeatable read\. Nothing was changed/,
    )
    assert.equal(await scene.tableOf(late), scene.dayTable(40))
    await pool.query(
      `do $$ begin execute format('alter database %I set default_transaction_isolation = serializable', current_database()); end $$`,
    )
    const elsewhere = createPool(scene.url, { max: 2 })
    const pass = await purgeConsumer({
      ...purgeOptions(scene, { ...wide, markers: '30d' }),
      pool: elsewhere,
    }).finally(() => elsewhere.end())
    assert.equal(pass.removed.markers, 10)
    assert.equal(await scene.tableOf(late), `inbox_${consumerId}_rest`)
  })

  test('a process that freezes before it commits delays inserts briefly, and has dropped nothing', async () => {
    await using scene = await daysScene()
    await scene.write(40, 10)
    await scene.partition(wide)
    const reach = (point: string) => {
      if (point === 'days.dropped') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3_000)
    }
    await assert.rejects(scene.pass({ ...wide, markers: '30d' }, { ...realEnvironment(), reach }))
    assert.equal(await scene.left(), 10)
    assert.equal((await scene.pass()).removed.markers, 10)
  })

  test('a marker inserted while its day is created goes to that day', async () => {
    await using scene = await daysScene()
    const { pool, consumerId } = scene
    await scene.partition()
    await pool.query(`drop table onceward.${scene.dayTable(0)}`)
    const [there] = await scene.write(0, 1)
    const fresh = idAt('uuidv7', noon(0), 1)
    assert.deepEqual(
      await claimsBeside(scene, consumerId, [there!, fresh], client =>
        client.query('select onceward.make_days($1)', [consumerId]),
      ),
      [0, 1],
    )
    for (const id of [there, fresh]) assert.equal(await scene.tableOf(id!), scene.dayTable(0))
  })

  test('an insert while the markers of its consumer move waits', async () => {
    await using scene = await daysScene()
    const { consumerId, otherId } = scene
    for (const whose of [consumerId, otherId]) {
      const [there] = await scene.write(0, 1, { of: whose })
      assert.deepEqual(
        await claimsBeside(scene, whose, [there!, idAt('uuidv7', noon(0), 1)], async client => {
          await client.query('select onceward.lock_inbox()')
          await client.query(`select onceward.build_days($1, 'uuidv7', current_date)`, [whose])
          await client.query('select onceward.attach_days($1)', [whose])
        }),
        [0, 1],
      )
    }
  })

  test('with the table of the consumer locked for long, other transactions wait only briefly', async () => {
    await using scene = await daysScene()
    await scene.write(40, 10)
    await scene.partition(wide)
    await transaction(scene, async client => {
      await client.query(claim, [scene.consumerId, idAt('uuidv7', noon(0), 1)])
      const pass = await waitingPass(scene)
      const others = await scene.pool.query(claim, [scene.otherId, 'other'])
      assert.equal(others.rowCount, 1, 'others do not wait at all')
      await transaction(scene, async beside => {
        await beside.query(`set local lock_timeout = '2s'`)
        const claimed = await beside.query(claim, [scene.consumerId, idAt('uuidv7', noon(0), 2)])
        assert.equal(claimed.rowCount, 1, 'well below the five seconds a batch waits')
      })
      assert.match((await pass.ended).putOff!, /locked by another transaction/)
    })
  })

  test('a batch that has inserted markers can insert another of the day while the drop waits for it: no deadlock', async () => {
    await using scene = await daysScene()
    await scene.write(40, 10)
    await scene.partition(wide)
    await transaction(scene, async client => {
      await client.query(`set local deadlock_timeout = '20ms'`)
      await client.query(claim, [scene.consumerId, idAt('uuidv7', noon(0), 1)])
      const pass = await waitingPass(scene)
      const late = await client.query(claim, [scene.consumerId, idAt('uuidv7', noon(40), 99)])
      assert.equal(late.rowCount, 1)
      assert.match((await pass.ended).putOff!, /locked by another transaction/)
    })
    assert.equal(await scene.deadlocks(), 0)
    assert.equal((await scene.pass()).removed.markers, 10)
  })

  test('two processes that drop and two consumers that insert the same ids never deadlock', async () => {
    await using scene = await daysScene()
    const { pool, consumerId } = scene
    await prepareRemembering(pool)
    await scene.partition()
    await using left = await startCounting(scene.url, remembering as never)
    await using right = await startCounting(scene.url, remembering as never)
    const orders = { url: scene.url, consumerId, folder: null, point: null, hit: 0, witness: '', daily: true }
    const purges = [1, 2].map(() => spawnPurge({ ...orders, goOn: true }))
    await Promise.all(purges.map(purge => purge.running))
    const [days, each] = [20, 500]
    for (let ago = 35; ago < 35 + days; ago++) {
      const old = messages(ago, each)
      await pool.query('select onceward.make_day($1, $2::date)', [consumerId, new Date(noon(ago))])
      await writeOld(scene, old)
      const fresh = messages(0, each, ago * each)
      left.publish(...fresh, ...old)
      right.publish(...old.toReversed(), ...fresh.toReversed())
      await until('the queues are short', () => left.queue.unsettled + right.queue.unsettled < 1_000, {
        deadlineMs: 60_000,
      })
    }
    await until('all is settled', () => left.queue.unsettled + right.queue.unsettled === 0, {
      deadlineMs: 60_000,
    })
    for (const purge of purges) purge.process.send('stop')
    for (const purge of purges) assert.equal((await purge.ended).code, 0)
    assert.equal(await scene.deadlocks(), 0)
    assert.equal((await pool.query('select count(*)::int from onceward.held')).rows[0].count, 0)
    const { rows } = await pool.query(
      `select (select times from count) as times, count(*) filter (where at < clock_timestamp() - interval '30 days')::int as untouched,
         count(*)::int as left from onceward.inbox where consumer_id = $1`,
      [consumerId],
    )
    const { times, untouched, left: all } = rows[0]
    assert.equal(times, all - untouched, 'one effect for each marker that was not there')
    assert.ok(times > days * each, 'ids came again after their day was dropped')
    assert.ok(times < 2 * days * each, 'and before')
    assert.equal((await scene.horizon())!.purged_count, days * each - untouched)
  })
})

function messages(ago: number, count: number, from = 0) {
  return Array.from({ length: count }, (_, n) => ({ id: idAt('uuidv7', noon(ago), from + n), key: '' }))
}

async function writeOld(
  { pool, consumerId }: DaysScene,
  all: readonly { readonly id: string }[],
): Promise<void> {
  const digests = all.map(message => digestOf(Buffer.from(JSON.stringify(message)), {}, []))
  await pool.query(
    `insert into onceward.inbox (consumer_id, run_id, at, status, message_id, digest)
     select $1, 1, clock_timestamp() - interval '60 days', 'applied', one.id, one.digest
     from unnest($2::text[], $3::bytea[]) as one (id, digest)`,
    [consumerId, all.map(message => message.id), digests],
  )
}

/** What claims answer that come while the work is not committed. */
async function claimsBeside(
  scene: DaysScene,
  of: number,
  ids: readonly string[],
  work: (client: SqlClient) => Promise<unknown>,
): Promise<readonly (number | null)[]> {
  const claims: Promise<number | null>[] = []
  await transaction(scene, async client => {
    await work(client)
    for (const id of ids) claims.push(scene.pool.query(claim, [of, id]).then(({ rowCount }) => rowCount))
    await until('all claims wait', async () => (await waiting(scene)) === ids.length)
  })
  return Promise.all(claims)
}

/**
 * A pass that waits for a lock. It does so for a moment only: where that was over before anybody saw it,
 * another is begun.
 */
async function waitingPass(scene: DaysScene) {
  const begin = () => {
    const pass = { ended: scene.pass(), over: false }
    const end = () => {
      pass.over = true
    }
    pass.ended.then(end, end)
    return pass
  }
  let pass = begin()
  await until('the pass waits', async () => {
    if (pass.over) pass = begin()
    return (await waiting(scene)) === 1
  })
  return pass
}

async function transaction({ pool }: DaysScene, work: (client: SqlClient) => Promise<void>): Promise<void> {
  const client = await pool.connect()
  let failed = true
  try {
    await client.query('begin')
    await work(client)
    await client.query('commit')
    failed = false
  } finally {
    client.release(failed)
  }
}

async function waiting({ pool }: DaysScene): Promise<number> {
  const { rows } = await pool.query(
    `select count(*)::int from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  )
  return rows[0].count
}

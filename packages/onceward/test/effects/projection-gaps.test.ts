import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import { postgresQueue } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { releaseHeld } from '../../src/operations/work/release-held.ts'
import { skipWithout } from '../services/services.ts'
import { type CaseFact, type CaseOptions, caseOptions, fact, ProjectionScene } from './projection-scene.ts'

const waits = (table: string, changes: object = {}): CaseOptions =>
  caseOptions(table, {
    gap: {
      policy: 'wait',
      deadlineMs: 600_000,
      atDeadline: 'accept',
      keyMax: 10,
      totalMax: 100,
      whenFull: 'park',
      ...changes,
    },
  })

describe('gaps of a projection', await skipWithout('postgres'), () => {
  let scene: ProjectionScene
  before(async () => {
    scene = await ProjectionScene.open()
  })
  after(() => scene.close())

  const running = async (t: TestContext, name: string, options: CaseOptions, changes = {}) => {
    const one = await scene.run(name, options, changes)
    t.after(() => one.drain())
    return one
  }
  const rowsAre = (table: string, ...rows: readonly string[]) =>
    until(`rows are ${rows}`, async () => `${await scene.rows(table)}` === `${rows}`)
  const heldAre = (name: string, ...held: readonly string[]) =>
    until(`held are ${held}`, async () => `${await scene.held(name)}` === `${held}`)

  describe('that wait', () => {
    it('are kept durably and released in order when the missing one comes', async t => {
      const table = await scene.table('waiting')
      await running(t, 'waiting', waits(table))
      await scene.publish('waiting', fact('a', 1), fact('a', 4), fact('b', 2))
      await heldAre('waiting', 'a-v4 waiting wait', 'b-v2 waiting wait')
      await scene.publish('waiting', fact('a', 3))
      await heldAre('waiting', 'a-v3 waiting wait', 'a-v4 waiting wait', 'b-v2 waiting wait')
      await rowsAre(table, 'a 1 s1 a-v1')
      await scene.publish('waiting', fact('a', 2), fact('b', 1))
      await rowsAre(table, 'a 4 s4 a-v4', 'b 2 s2 b-v2')
      await heldAre('waiting')
      assert.deepEqual(await scene.notes('waiting'), [])
      assert.deepEqual(
        (await scene.markers('waiting')).filter(marker => !marker.endsWith(' applied')),
        [],
      )
    })

    it('are accepted at the deadline where that is declared, with a note', async t => {
      const table = await scene.table('deadline')
      await running(t, 'deadline', waits(table, { deadlineMs: 1 }))
      await scene.publish('deadline', fact('a', 3))
      await rowsAre(table, 'a 3 s3 a-v3')
      await heldAre('deadline')
      assert.deepEqual(await scene.notes('deadline'), ['a-v3 gap'])
    })

    it('are parked at the deadline where that is declared', async t => {
      const table = await scene.table('deadline_park')
      await running(t, 'deadline_park', waits(table, { deadlineMs: 1, atDeadline: 'park' }))
      await scene.publish('deadline_park', fact('a', 3))
      await heldAre('deadline_park', 'a-v3 parked gap')
      assert.deepEqual(await scene.rows(table), [])
    })

    it('are repaired at the deadline where that is declared', async t => {
      const table = await scene.table('deadline_repair')
      const repair = { fetch: async () => fact('a', 3) }
      await running(t, 'deadline_repair', waits(table, { deadlineMs: 1, atDeadline: 'repair', repair }))
      await scene.publish('deadline_repair', fact('a', 3))
      await rowsAre(table, 'a 3 s3 a-v3')
      await heldAre('deadline_repair')
    })

    it('stop their key at the deadline where that is declared', async t => {
      const table = await scene.table('deadline_halt')
      await running(t, 'deadline_halt', waits(table, { deadlineMs: 1, atDeadline: 'halt key' }), {
        source: postgresQueue('deadline_halt', { keyOrder: true }),
        order: 'key',
      })
      await scene.publish('deadline_halt', fact('a', 3))
      await heldAre('deadline_halt', 'a-v3 quarantined gap')
      await scene.publish('deadline_halt', fact('a', 1), fact('b', 1))
      await rowsAre(table, 'b 1 s1 b-v1')
      await heldAre('deadline_halt', 'a-v1 parked behind_parked', 'a-v3 quarantined gap')
    })

    it('are treated as declared when a key or all of them have too many', async t => {
      const table = await scene.table('crowded')
      await running(t, 'crowded', waits(table, { keyMax: 2, totalMax: 3 }))
      await scene.publish('crowded', fact('a', 3))
      await heldAre('crowded', 'a-v3 waiting wait')
      await scene.publish('crowded', fact('a', 5), fact('a', 7))
      await heldAre('crowded', 'a-v3 waiting wait', 'a-v5 waiting wait', 'a-v7 parked gap')
      await scene.publish('crowded', fact('b', 3), fact('c', 3))
      await until('all have a state', async () => (await scene.held('crowded')).length === 5)
      const held = await scene.held('crowded')
      assert.equal(held.filter(one => one.endsWith('waiting wait')).length, 3)
      assert.equal(held.filter(one => one.endsWith('parked gap')).length, 2)
    })

    it('miss no release when the missing one is applied at the same time', async t => {
      const table = await scene.table('raced')
      await running(t, 'raced', waits(table), { batch: { sizeMax: 1, inFlightMax: 8 } })
      const keys = Array.from({ length: 40 }, (_, n) => `k${String(n).padStart(2, '0')}`)
      await scene.publish('raced', ...keys.flatMap(key => [fact(key, 3), fact(key, 2), fact(key, 1)]))
      await rowsAre(table, ...keys.map(key => `${key} 3 s3 ${key}-v3`))
      await heldAre('raced')
    })
  })

  describe('of two consumers on one table', () => {
    for (const [gap, other] of [
      ['wait', waits],
      ['accept latest', caseOptions],
    ] as const)
      it(`are released when the other one, with ${gap}, writes what was missing`, async t => {
        const table = await scene.table(`shared_${gap.replace(' ', '_')}`)
        const [one, two] = [`${table}_one`, `${table}_two`]
        await running(t, one, waits(table))
        await running(t, two, other(table))
        await scene.publish(one, fact('a', 1), fact('a', 3), fact('b', 2))
        await heldAre(one, 'a-v3 waiting wait', 'b-v2 waiting wait')
        await scene.publish(two, fact('a', 2), fact('b', 1))
        await rowsAre(table, 'a 3 s3 a-v3', 'b 2 s2 b-v2')
        await heldAre(one)
      })

    it('are released under a key of several columns, and only what is ready', async t => {
      await scene.pool.query(
        'create table pairs (a uuid, b bigint, version bigint not null, state text, primary key (a, b))',
      )
      const id = '0190a5e0-0000-7000-8000-000000000001'
      const key = { a: () => id, b: (m: CaseFact) => m.caseId }
      const { table, version, gap } = waits('pairs')
      await running(t, 'pairs', { table, version, gap, key, columns: { state: 'state' } })
      await scene.publish('pairs', fact('7', 3), fact('7', 5))
      await heldAre('pairs', '7-v3 waiting wait', '7-v5 waiting wait')
      await scene.pool.query(`insert into pairs values ($1, 7, 2)`, [id])
      await heldAre('pairs', '7-v5 waiting wait')
      await scene.pool.query(`update pairs set version = 4`)
      await heldAre('pairs')
    })

    it('are found among more keys than one query covers', async t => {
      const table = await scene.table('many_waiting')
      const most = waits(table, { totalMax: 5_000 })
      await running(t, table, most)
      const keys = Array.from({ length: 1_100 }, (_, n) => `k${String(n).padStart(4, '0')}`)
      await scene.publish(table, ...keys.map(key => fact(key, 2)))
      await until('all wait', async () => (await scene.held(table)).length === 1_100)
      await scene.pool.query(`insert into ${table} (case_id, version) values ('k1099', 1)`)
      await rowsAre(table, 'k1099 2 s2 k1099-v2')
    })

    for (const gap of ['skips allowed', 'accept latest', 'fail fast', 'rebuild'] as const)
      it(`park facts of a row without a version, with ${gap}, and name the row`, async () => {
        const table = await scene.table(`unversioned_${gap.replace(' ', '_')}`)
        await scene.pool.query(`alter table ${table} alter column version drop not null`)
        await scene.pool.query(`insert into ${table} (case_id, version, state) values ('a', null, 'theirs')`)
        const options = caseOptions(table, { gap })
        await scene.drive(table, options, [[fact('a', 1), fact('b', 1)], [fact('a', 2)]])
        assert.deepEqual(await scene.rows(table), ['a theirs', 'b 1 s1 b-v1'])
        const held = await scene.held(table)
        assert.equal(held[0], 'a-v1 parked row_without_version')
        const { rows } = await scene.pool.query(
          `select reason from onceward.held where message_id = 'a-v1' and consumer_id = (select id from onceward.consumer where name = $1)`,
          [table],
        )
        assert.match(rows[0].reason, /row of a in .*unversioned.* has no version.*release the message/)
      })
  })

  describe('that are repaired', () => {
    it('apply what the source of truth answers, and what comes after it', async () => {
      const table = await scene.table('repaired')
      const asked: unknown[] = []
      const fetch = async ({
        key,
        found,
        version,
      }: {
        key: object
        found: bigint | null
        version: bigint
      }) => {
        asked.push([key, found, version])
        return fact('a', 4, { id: 'truth' })
      }
      const options = caseOptions(table, { gap: { policy: 'repair', fetch } })
      await scene.drive('repaired', options, [[fact('a', 1), fact('a', 4), fact('a', 5)]])
      assert.deepEqual(asked, [[{ case_id: 'a' }, 1n, 4n]])
      assert.deepEqual(await scene.rows(table), ['a 5 s5 a-v5'])
      assert.deepEqual(await scene.notes('repaired'), ['a-v1 repaired', 'a-v4 repaired'])
      assert.equal(
        (await scene.markers('repaired')).every(marker => marker.endsWith(' applied')),
        true,
      )
    })

    it('never move the row back, for any answer of the source of truth', async () => {
      const table = await scene.table('behind')
      const fetch = async () => fact('a', 1, { state: 'old' })
      const { outcomes } = await scene.drive(
        'behind',
        caseOptions(table, { gap: { policy: 'repair', fetch, retryMs: 0 } }),
        [[fact('a', 1), fact('a', 2)], [fact('a', 5)]],
      )
      assert.deepEqual(await scene.rows(table), ['a 2 s2 a-v2'])
      assert.deepEqual(await scene.held('behind'), ['a-v5 parked gap'])
      assert.deepEqual(outcomes, { applied: 2, retry: 2, parked: 1 })
    })

    it('are requested again after an error and after no answer, then parked as the failure policy says', async () => {
      const table = await scene.table('silent')
      let calls = 0
      const fetch = ({ signal }: { signal: AbortSignal }) => {
        calls++
        if (calls === 1) return Promise.reject(new Error('connection refused'))
        return new Promise<CaseFact>((_, reject) =>
          signal.addEventListener('abort', () => reject(signal.reason)),
        )
      }
      const gap = { policy: 'repair' as const, fetch, timeoutMs: 20, retryMs: 0 }
      await scene.drive('silent', caseOptions(table, { gap }), [[fact('a', 3)], [fact('a', 4)]])
      assert.equal(calls, 3)
      assert.deepEqual(await scene.rows(table), [])
      assert.deepEqual(await scene.held('silent'), ['a-v3 parked gap', 'a-v4 parked behind_parked'])
    })

    it('refuse an answer about another key', async () => {
      const table = await scene.table('astray')
      const gap = { policy: 'repair' as const, fetch: async () => fact('b', 9), retryMs: 0 }
      await scene.drive('astray', caseOptions(table, { gap }), [[fact('a', 3)]])
      assert.deepEqual(await scene.rows(table), [])
      assert.deepEqual(await scene.held('astray'), ['a-v3 parked gap'])
    })
  })

  describe('that fail fast', () => {
    it('quarantine the fact and stop its key, later ones parked behind it; others continue', async () => {
      const table = await scene.table('stopped')
      const options = caseOptions(table, { gap: 'fail fast' })
      await scene.drive('stopped', options, [
        [fact('a', 1), fact('b', 1)],
        [fact('a', 3), fact('a', 4), fact('b', 2)],
        [fact('a', 2), fact('b', 3)],
      ])
      assert.deepEqual(await scene.rows(table), ['a 1 s1 a-v1', 'b 3 s3 b-v3'])
      assert.deepEqual(await scene.held('stopped'), [
        'a-v2 parked behind_parked',
        'a-v3 quarantined gap',
        'a-v4 parked behind_parked',
      ])
      const { rows } = await scene.pool.query(
        `select key from onceward.blocked_key where consumer_id = (select id from onceward.consumer where name = 'stopped')`,
      )
      assert.deepEqual(rows, [{ key: 'a' }])
    })
  })

  describe('that fail fast, in stored mode', () => {
    it('stop the key for what was stored before as well, and an operator frees it by the message that stopped it', async t => {
      const table = await scene.table('stopped_stored')
      const name = 'stopped_stored'
      const changes = {
        source: postgresQueue(name, { keyOrder: true }),
        order: 'key' as const,
        inbox: { mode: 'stored' as const },
        batch: { sizeMax: 1 },
      }
      const one = await scene.run(name, caseOptions(table, { gap: 'fail fast' }), changes, ['consumer'])
      await scene.publish(name, fact('a', 1), fact('a', 3), fact('a', 2), fact('b', 1))
      const depth = 'select count(*)::int as count from onceward.held where state = $1'
      await until(
        'all are stored',
        async () => (await scene.pool.query(depth, ['stored'])).rows[0].count === 4,
      )
      await one.drain()
      await running(t, name, caseOptions(table, { gap: 'fail fast' }), changes)
      await until('it stopped', async () => (await scene.held(name)).includes('a-v3 quarantined gap'))
      await scene.publish(name, fact('b', 2))
      await rowsAre(table, 'a 1 s1 a-v1', 'b 2 s2 b-v2')
      assert.deepEqual(await scene.held(name), ['a-v2 stored ', 'a-v3 quarantined gap'])
      const { rows } = await scene.pool.query(`select id from onceward.held where message_id = 'a-v3'
        and consumer_id = (select id from onceward.consumer where name = '${name}')`)
      const { released } = await releaseHeld(scene.pool, {
        id: rows[0].id,
        consumer: name,
        because: 'two is behind it',
      })
      assert.equal(released, 0)
      await rowsAre(table, 'a 2 s2 a-v2', 'b 2 s2 b-v2')
      await heldAre(name, 'a-v3 quarantined gap')
    })
  })

  describe('that fail fast, and an operator', () => {
    for (const dedup of ['marker', 'version'] as const) {
      it(`closes the hole and releases the key under dedup '${dedup}': those behind continue, in order`, async t => {
        const name = `released_${dedup}`
        const table = await scene.table(name)
        await running(t, name, caseOptions(table, { gap: 'fail fast' }), {
          source: postgresQueue(name, { keyOrder: true }),
          order: 'key',
          dedup,
        })
        await scene.publish(name, fact('a', 1), fact('a', 3), fact('a', 4), fact('a', 5))
        const behind = ['a-v4 parked behind_parked', 'a-v5 parked behind_parked']
        await heldAre(name, 'a-v3 quarantined gap', ...behind)
        await scene.pool.query(
          `update ${table} set version = 3, state = 's3', event_id = 'by hand' where case_id = 'a'`,
        )
        const { rows } = await scene.pool.query(
          `select id from onceward.held where message_id = 'a-v5'
          and consumer_id = (select id from onceward.consumer where name = $1)`,
          [name],
        )
        await releaseHeld(scene.pool, {
          id: rows[0].id,
          consumer: name,
          because: 'hole closed by hand',
        })
        await rowsAre(table, 'a 5 s5 a-v5')
        await heldAre(name, 'a-v3 quarantined gap')
        assert.deepEqual(await scene.notes(name), [])
        await scene.publish(name, fact('a', 6))
        await rowsAre(table, 'a 6 s6 a-v6')
      })
    }

    it('released messages are applied before new ones', async t => {
      const table = await scene.table('before')
      const options = caseOptions(table, { gap: 'fail fast' })
      const changes = { source: postgresQueue('before', { keyOrder: true }), order: 'key' as const }
      const reads = await scene.run('before', options, changes, ['consumer'])
      t.after(() => reads.drain())
      await scene.publish('before', fact('a', 1), fact('a', 3), fact('a', 4))
      await heldAre('before', 'a-v3 quarantined gap', 'a-v4 parked behind_parked')
      // As a worker does that ran here once: there is one that could take it up.
      const works = await scene.run('before', options, changes, ['worker'])
      await works.drain()
      await scene.pool.query(`update ${table} set version = 3, state = 's3' where case_id = 'a'`)
      const { rows } = await scene.pool.query(`select id from onceward.held where message_id = 'a-v4'
        and consumer_id = (select id from onceward.consumer where name = 'before')`)
      await releaseHeld(scene.pool, { id: rows[0].id, consumer: 'before', because: 'closed' })
      await scene.publish('before', fact('a', 5), fact('b', 1))
      await rowsAre(table, 'a 3 s3 a-v1', 'b 1 s1 b-v1')
      await running(t, 'before', options, changes)
      await rowsAre(table, 'a 5 s5 a-v5', 'b 1 s1 b-v1')
      await heldAre('before', 'a-v3 quarantined gap')
    })
  })

  describe('that wait for a rebuild', () => {
    it('note the key with the version to reach, and are applied again once the row is there', async () => {
      const table = await scene.table('handed')
      const options = caseOptions(table, { gap: 'rebuild' })
      await scene.drive('handed', options, [[fact('a', 1)], [fact('a', 3)], [fact('a', 5)]])
      const wanted = async () =>
        (await scene.pool.query(`select key, found::int, wanted::int from onceward.rebuild_key`)).rows
      assert.deepEqual(await wanted(), [{ key: 'a', found: 1, wanted: 5 }])
      assert.deepEqual(await scene.rows(table), ['a 1 s1 a-v1'])
      assert.deepEqual(await scene.markers('handed'), ['a-v1 applied', 'a-v3 ignored', 'a-v5 ignored'])
      assert.deepEqual(await scene.notes('handed'), ['a-v3 rebuild', 'a-v5 rebuild'])
      await scene.pool.query(`update ${table} set version = 5, state = 's5', event_id = 'a-v5'`)
      await scene.drive('handed', options, [[fact('a', 6)]])
      assert.deepEqual(await scene.rows(table), ['a 6 s6 a-v6'])
    })
  })
})

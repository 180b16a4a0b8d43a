import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { realEnvironment } from 'onceward'
import { planPurge } from '../../src/operations/retention/plan-purge.ts'
import { purgeConsumer } from '../../src/operations/retention/purge-consumer.ts'
import { declareTerms } from '../../src/operations/retention/record-pass.ts'
import { People, refusal } from '../parking/people.ts'
import { skipWithout } from '../services/services.ts'
import { receipts } from './receipt-rows.ts'
import { type MemoryScene, memoryScene, purgeOptions } from './scene.ts'

const term = { markers: '30d', receipts: '10d' } as const

const tables = async ({ pool }: MemoryScene) =>
  (
    await pool.query(
      `select count(*)::integer as n from pg_inherits where inhparent = 'onceward.receipt'::regclass`,
    )
  ).rows[0].n as number

const left = async ({ pool }: MemoryScene, id: number) =>
  (await pool.query('select count(*)::integer as n from onceward.receipt where consumer_id = $1', [id]))
    .rows[0].n as number

async function pass(scene: MemoryScene, changes: Partial<Parameters<typeof purgeConsumer>[0]> = {}) {
  const options = { ...purgeOptions(scene, term), ...changes }
  await declareTerms(scene.pool, scene.consumerId, options.retention, 0)
  return purgeConsumer(options)
}

describe('retention of receipts', await skipWithout('postgres'), () => {
  test('drops whole days, and removes rows where another consumer has some', async () => {
    await using scene = await memoryScene()
    // The database is a copy of one that was migrated earlier, perhaps on another day: a pass makes its days.
    await scene.pool.query('select onceward.make_receipt_days()')
    const before = await tables(scene)
    for (const days of [12, 20, 30]) await receipts(scene, days)
    await receipts(scene, 30, scene.otherId)
    await receipts(scene, 2)
    await receipts(scene, 40, scene.consumerId, { rest: true })
    assert.equal(await tables(scene), before + 4)
    const planned = await planPurge(scene.pool, scene.consumerId, purgeOptions(scene, term).retention)
    assert.equal(planned.find(one => one.kind === 'receipts')!.rows, 4)

    const { removed, ended, putOff } = await pass(scene)
    assert.deepEqual([removed.receipts, ended, putOff], [8, null, null])
    assert.equal(
      await tables(scene),
      before + 2,
      'days 12 and 20 are dropped; another consumer has rows of 30',
    )
    assert.deepEqual([await left(scene, scene.consumerId), await left(scene, scene.otherId)], [1, 1])
    const { rows } = await scene.pool.query(
      `select r.purged_count::integer, p.count::integer from onceward.retention r join onceward.purged p using (consumer_id, kind)
       where kind = 'receipts'`,
    )
    assert.deepEqual(rows, [{ purged_count: 8, count: 8 }])
  })

  test('archives a day before it is dropped, and keeps one that grew meanwhile', async () => {
    await using scene = await memoryScene()
    await receipts(scene, 12)
    await receipts(scene, 20)
    const folder = mkdtempSync(join(tmpdir(), 'onceward-receipts-'))
    const archived = purgeOptions(scene, { ...term, action: 'archive' })
    let grew = false
    const env = realEnvironment()
    const reach = (point: string) => {
      if (point !== 'receipts.archived' || grew) return
      grew = true
    }
    try {
      // The first day grows between its archive and its removal.
      const pool = growing(scene, () => grew)
      const { removed, putOff } = await pass(scene, {
        ...archived,
        archive: { folder },
        env: { ...env, reach },
        pool,
      })
      assert.equal(removed.receipts, 2)
      assert.match(putOff!, /in use by another transaction/)
      assert.equal(await left(scene, scene.consumerId), 2, 'the day that grew stays whole')
      const again = await pass(scene, { ...archived, archive: { folder } })
      assert.equal(again.removed.receipts, 4)
      const lines = readdirSync(folder).flatMap(name =>
        readFileSync(join(folder, name), 'utf8').trim().split('\n'),
      )
      const first = JSON.parse(lines[0]!)
      assert.deepEqual(
        [first.consumer, first.count, first.facts.id, first.digests.length],
        ['remembering', 2, ['a', 'b'], 128],
      )
      assert.equal(lines.length, 4, 'the day that grew is archived again, whole')
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  test('works with the rights of a consumer, which may neither change nor delete receipts', async () => {
    await using scene = await memoryScene()
    await scene.pool.query('select onceward.create_roles()')
    await receipts(scene, 12)
    await receipts(scene, 3)
    const people = new People(scene.pool, scene.url)
    try {
      const { pool } = await people.login(['onceward_run'], { person: false })
      for (const act of [
        `update onceward.receipt set run_id = 2`,
        `delete from onceward.receipt`,
        `delete from onceward.receipt_rest`,
        `delete from onceward.receipt_${new Date(Date.now() - 3 * 86_400_000).toISOString().slice(0, 10).replaceAll('-', '')}`,
      ])
        assert.match(await refusal(pool, act), /^42501 /)
      await pool.query('select onceward.make_receipt_days()')
      assert.equal((await pass(scene, { pool })).removed.receipts, 2)
      assert.match(
        await refusal(
          pool,
          `select onceward.remove_receipts($1, (now() at time zone 'UTC')::date - 3, now(), null)`,
          [scene.consumerId],
        ),
        /may not be removed yet\. Nothing was changed/,
      )
    } finally {
      await people.close()
    }
  })
})

/** A pool that adds a receipt to day 20 once, just before the removal of the first day. */
function growing(scene: MemoryScene, isDue: () => boolean): MemoryScene['pool'] {
  let done = false
  const { pool } = scene
  const connect = async () => {
    if (isDue() && !done) {
      done = true
      await receipts(scene, 20)
    }
    return pool.connect()
  }
  return { query: pool.query.bind(pool), connect } as never
}

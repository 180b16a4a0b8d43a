import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { until } from 'onceward/testing'
import { skipWithout } from '../services/services.ts'
import type { DaysOrders } from './days-process.ts'
import { daysScene } from './days-scene.ts'
import { spawnPurge } from './spawn-purge.ts'

const wide = { markers: '90d', partitions: 'daily' } as const

describe('a process killed at the days of markers', await skipWithout('postgres'), () => {
  for (const point of ['days.built', 'days.attached', 'days.standing'] as const) {
    test(`at ${point}: all markers are where they were, or all in days, and the command succeeds when repeated`, async () => {
      await using scene = await daysScene()
      await scene.write(40, 100)
      await scene.markers('odd-', 10, 1)
      await using folder = witnessFolder()
      assert.equal(await killed({ url: scene.url, point, witness: folder.witness }), 'SIGKILL')
      assert.match(readFileSync(folder.witness, 'utf8'), new RegExp(`died at ${point}`))
      await until('the server has noticed', () => scene.isQuiet())
      const { rows } = await scene.pool.query(
        `select relkind::text, (select count(*)::int from onceward.marker_days) as days, (select count(*)::int from onceward.inbox) as markers,
           to_regclass('onceward.inbox_' || $1::integer) is not null as parts from pg_class where oid = 'onceward.inbox'::regclass`,
        [scene.consumerId],
      )
      const done = point === 'days.standing'
      assert.deepEqual(rows[0], { relkind: done ? 'p' : 'r', days: done ? 1 : 0, markers: 110, parts: done })
      assert.deepEqual(await scene.partition(wide), { already: done, moved: done ? 0 : 110 })
      assert.equal(await scene.left(), 110)
    })
  }

  for (const point of ['days.made', 'days.sealed', 'days.dropped', 'days.gone'] as const) {
    test(`at ${point}: a day exists with its markers, or is removed and the horizon moved`, async () => {
      await using scene = await daysScene()
      await scene.write(40, 100)
      const [late] = await scene.write(40, 1, { appliedAgo: 5, from: 1_000 })
      await scene.partition(wide)
      await scene.pool.query(`drop table onceward.${scene.dayTable(-3)}`)
      await using folder = witnessFolder()
      const orders = {
        url: scene.url,
        consumerId: scene.consumerId,
        folder: null,
        daily: true,
        witness: folder.witness,
      }
      const { signal } = await spawnPurge({ ...orders, point, hit: 1 }).ended
      assert.equal(signal, 'SIGKILL')
      assert.match(readFileSync(folder.witness, 'utf8'), new RegExp(`died at ${point}`))
      await until('the server has noticed', () => scene.isQuiet())
      const gone = point === 'days.gone'
      assert.equal((await scene.tables()).includes(scene.dayTable(40)), !gone)
      assert.equal((await scene.tables()).includes(scene.dayTable(-3)), point !== 'days.made')
      assert.equal(await scene.left(), gone ? 1 : 101)
      assert.equal((await scene.horizon())?.purged_count ?? 0, gone ? 100 : 0)

      const { code } = await spawnPurge({ ...orders, point: null, hit: 0 }).ended
      assert.equal(code, 0)
      assert.equal(await scene.tableOf(late!), `inbox_${scene.consumerId}_rest`)
      assert.deepEqual([await scene.left(), (await scene.horizon())!.purged_count], [1, 100])
    })
  }
})

function killed(orders: DaysOrders): Promise<string | null> {
  const file = fileURLToPath(new URL('days-process.ts', import.meta.url))
  const child = spawn(process.execPath, ['--conditions=@onceward/source', file], {
    env: { ...process.env, DAYS_ORDERS: JSON.stringify(orders) },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  return new Promise(resolve => child.once('close', (_, signal) => resolve(signal)))
}

function witnessFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'onceward-days-'))
  return {
    witness: join(folder, 'witness'),
    async [Symbol.asyncDispose]() {
      rmSync(folder, { recursive: true })
    },
  }
}

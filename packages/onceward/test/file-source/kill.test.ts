import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { appendFile, mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createPool, migrate } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { createDatabase, skipWithout } from '../services/services.ts'
import type { ReaderOrders } from './child.ts'

function spawnReader(orders: ReaderOrders): { process: ChildProcess; ended: Promise<number | null> } {
  const child = spawn(
    process.execPath,
    ['--conditions=@onceward/source', fileURLToPath(new URL('child.ts', import.meta.url))],
    {
      env: { ...process.env, READER_ORDERS: JSON.stringify(orders) },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    },
  )
  return { process: child, ended: new Promise(resolve => child.once('close', code => resolve(code))) }
}

const { skip } = await skipWithout('postgres')
const lives = 5
const linesPerLife = 300

describe('a process that is killed in the middle of a file', { ...(skip && { skip }) }, () => {
  for (const remembers of ['marker', 'checkpoint'] as const) {
    test(`applies every line once in the end, through rotations (${remembers})`, async t => {
      const folder = await mkdtemp(join(tmpdir(), 'onceward-kill-'))
      const database = await createDatabase()
      const pool = createPool(database.url, { max: 2 })
      const spawned: ReturnType<typeof spawnReader>[] = []
      t.after(async () => {
        for (const one of spawned) one.process.kill('SIGKILL')
        await Promise.all(spawned.map(one => one.ended))
        await pool.end()
        await database.drop()
        await rm(folder, { recursive: true })
      })
      await migrate(pool)
      await pool.query('create table effect (id text primary key, times integer not null)')
      const applied = async () =>
        (await pool.query('select count(*)::int as n from effect')).rows[0].n as number
      const path = join(folder, 'events.jsonl')
      const orders = { databaseUrl: database.url, pattern: path, remembers }
      let killedInside = 0
      for (let life = 0; life < lives; life++) {
        const ids = Array.from({ length: linesPerLife }, (_, index) => `${life}-${index}`)
        await appendFile(path, ids.map(id => `${JSON.stringify({ id })}\n`).join(''))
        if (life % 2 === 1) await rename(path, `${path}.${lives - life}`)
        const before = await applied()
        const reader = spawnReader({ ...orders, until: 'forever' })
        spawned.push(reader)
        await until('it has begun', async () => (await applied()) > before)
        reader.process.kill('SIGKILL')
        await reader.ended
        if ((await applied()) < (life + 1) * linesPerLife) killedInside++
      }
      assert.ok(killedInside > 0, 'every kill came too late to mean anything')
      await appendFile(path, '{"id":"last"}')
      const last = spawnReader({ ...orders, until: 'end' })
      spawned.push(last)
      assert.equal(await last.ended, 0)
      const { rows } = await pool.query('select count(*)::int as lines, max(times) as most from effect')
      assert.deepEqual(rows, [{ lines: lives * linesPerLife + 1, most: 1 }])
    })
  }
})

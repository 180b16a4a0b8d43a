import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { skipWithout } from '../services/services.ts'
import { receipts } from './receipt-rows.ts'
import { type MemoryScene, memoryScene } from './scene.ts'
import { spawnPurge } from './spawn-purge.ts'

const ages = [12, 15, 20]

describe('a process killed while it removes receipts', await skipWithout('postgres'), () => {
  for (const point of ['receipts.archived', 'receipts.removed', 'receipts.gone'] as const)
    test(`at ${point}: no day is removed that the archive lacks, and the next pass removes the rest`, async () => {
      await using scene = await memoryScene()
      for (const days of ages) await receipts(scene, days)
      await receipts(scene, 2)
      const folder = mkdtempSync(join(tmpdir(), 'onceward-receipts-'))
      const orders = {
        url: scene.url,
        consumerId: scene.consumerId,
        folder: join(folder, 'archive'),
        receipts: true,
      }
      const witness = join(folder, 'witness')
      const { signal } = await spawnPurge({ ...orders, point, hit: 2, witness }).ended
      assert.equal(signal, 'SIGKILL')
      const left = await times(scene)
      assert.equal(left.length, point === 'receipts.gone' ? 2 : 3)
      const first = archived(orders.folder)
      assert.ok(first.size >= ages.length + 1 - left.length)

      const { code } = await spawnPurge({ ...orders, point: null, hit: 0, witness }).ended
      assert.equal(code, 0)
      assert.equal((await times(scene)).length, 1)
      assert.equal(archived(orders.folder).size, ages.length)
      rmSync(folder, { recursive: true })
    })
})

async function times({ pool }: MemoryScene): Promise<readonly Date[]> {
  return (await pool.query('select at from onceward.receipt order by at')).rows.map(row => row.at as Date)
}

/** The times of the archived rows. */
function archived(folder: string): Set<string> {
  const lines = readdirSync(folder).flatMap(file => readFileSync(join(folder, file), 'utf8').split('\n'))
  return new Set(lines.filter(line => line !== '').map(line => JSON.parse(line).at as string))
}

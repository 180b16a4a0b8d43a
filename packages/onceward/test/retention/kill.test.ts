import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { skipWithout } from '../services/services.ts'
import { memoryScene } from './scene.ts'
import { spawnPurge } from './spawn-purge.ts'

const markers = 6_000

describe('a process killed while it removes', await skipWithout('postgres'), () => {
  for (const point of ['retention.archived', 'retention.removed', 'retention.committed'] as const) {
    for (const hit of [1, 2]) {
      test(`at ${point}, passage ${hit}: no row is removed that the archive lacks, and the horizon is right`, async () => {
        await using scene = await memoryScene()
        const folder = mkdtempSync(join(tmpdir(), 'onceward-purge-'))
        await scene.markers('old-', markers, 40)
        await scene.markers('young-', 10, 1)
        const orders = { url: scene.url, consumerId: scene.consumerId, folder: join(folder, 'archive') }
        const witness = join(folder, 'witness')
        const { signal } = await spawnPurge({ ...orders, point, hit, witness }).ended
        assert.equal(signal, 'SIGKILL')
        assert.match(readFileSync(witness, 'utf8'), new RegExp(`died at ${point}`))

        const left = await leftIds(scene)
        const committed = markers - left.size
        assert.equal(committed > 0, hit === 2 || point === 'retention.committed')
        assert.equal((await scene.horizon())?.purged_count ?? 0, committed, 'rows and horizon go together')
        assertCovered(archivedIds(orders.folder), left)

        const { code } = await spawnPurge({ ...orders, point: null, hit: 0, witness }).ended
        assert.equal(code, 0)
        assert.deepEqual([await scene.left('old-'), await scene.left('young-')], [0, 10])
        assert.equal((await scene.horizon())!.purged_count, markers)
        assertCovered(archivedIds(orders.folder), new Set())
        rmSync(folder, { recursive: true })
      })
    }
  }
})

async function leftIds({ pool }: Awaited<ReturnType<typeof memoryScene>>): Promise<Set<string>> {
  const { rows } = await pool.query(`select message_id from onceward.inbox where message_id like 'old-%'`)
  return new Set(rows.map(row => row.message_id as string))
}

/** Every row that is gone has a line. */
function assertCovered(archived: ReadonlySet<string>, left: ReadonlySet<string>): void {
  for (let n = 1; n <= markers; n++) {
    const id = `old-${String(n).padStart(8, '0')}`
    assert.ok(left.has(id) || archived.has(id), `${id} is in neither place`)
  }
}

function archivedIds(folder: string): Set<string> {
  const lines = readdirSync(folder).flatMap(file => readFileSync(join(folder, file), 'utf8').split('\n'))
  return new Set(lines.filter(line => line !== '').map(line => JSON.parse(line).message_id as string))
}

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createQueue, publish } from 'onceward/postgres'
import { type CrashPoint, until } from 'onceward/testing'
import { skipWithout } from '../services/services.ts'
import type { ChildOrders } from './child.ts'
import { drizzleLibrary, knexLibrary, kyselyLibrary } from './libraries.ts'
import { openEffects } from './rig.ts'

const available = await skipWithout('postgres')

for (const { name: library } of [kyselyLibrary, drizzleLibrary, knexLibrary]) {
  describe(`a process killed in a transaction of ${library}`, available, () => {
    for (const point of ['batch.concluded', 'batch.committed'] as const) {
      test(`at ${point} leaves both marker and write or neither, and each once in the end`, async () => {
        await using database = await openEffects()
        const queue = 'killed.q'
        await createQueue(database.pool, queue)
        await publish(database.pool, queue, [{ body: Buffer.from('{"id":"a"}') }])
        const orders = { library, url: database.url, queue }
        await die({ ...orders, point })
        const committed = point === 'batch.committed'
        assert.deepEqual(await database.effects(), committed ? ['a'] : [])
        assert.deepEqual(await database.markers('killed'), committed ? ['a applied'] : [])

        const child = spawnChild({ ...orders, point: null, witness: '' })
        await until('the queue is empty', async () => {
          const { rows } = await database.pool.query('select count(*)::int from onceward.queue_message')
          return rows[0].count === 0
        })
        child.process.kill('SIGTERM')
        assert.equal((await child.ended).code, 0)
        assert.deepEqual(await database.effects(), ['a'])
        assert.deepEqual(await database.markers('killed'), ['a applied'])
      })
    }
  })
}

function spawnChild(orders: ChildOrders) {
  const child = spawn(
    process.execPath,
    ['--conditions=@onceward/source', fileURLToPath(new URL('child.ts', import.meta.url))],
    { env: { ...process.env, CHILD_ORDERS: JSON.stringify(orders) }, stdio: ['ignore', 'ignore', 'inherit'] },
  )
  const ended = new Promise<{ code: number | null; signal: string | null }>(resolve =>
    child.once('close', (code, signal) => resolve({ code, signal })),
  )
  return { process: child, ended }
}

/** Crashes a child at the point, and proves it. */
async function die(orders: Omit<ChildOrders, 'witness'> & { point: CrashPoint }): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'onceward-adapters-'))
  const witness = join(folder, 'witness')
  const { signal } = await spawnChild({ ...orders, witness }).ended
  assert.equal(signal, 'SIGKILL')
  assert.match(readFileSync(witness, 'utf8'), new RegExp(`died at ${orders.point}`))
  rmSync(folder, { recursive: true })
}

import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { createPool } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { cliFlags, cliMain, openFolder } from '../runtime/cli-process.ts'
import { createDatabase, skipWithout } from '../services/services.ts'

/** The real `npx`, on a project whose command is this checkout. */
describe('npx onceward run', await skipWithout('postgres'), () => {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const)
    test(`the consumer drains and ends when npx is ended by ${signal}`, { timeout: 180_000 }, async () => {
      await using cleanup = new AsyncDisposableStack()
      const scene = cleanup.use(openFolder())
      const database = await createDatabase()
      cleanup.defer(() => database.drop())
      const pool = createPool(database.url, { max: 1 })
      cleanup.defer(() => pool.end())
      link(scene.folder)
      scene.consumer('by_npx', "postgresQueue('by_npx')")
      const npx = scene.start(['run', 'by_npx.ts'], { ONCEWARD_DATABASE_URL: database.url }, [
        'npx',
        'onceward',
      ])
      await until('it runs', () => /consumer running/.test(npx.output.stderr))
      const { rows } = await pool.query('select instance from onceward.run')
      const pid = Number.parseInt(rows[0].instance, 10)
      cleanup.defer(() => {
        if (lives(pid)) process.kill(pid, 'SIGKILL')
      })
      assert.notEqual(pid, npx.child.pid)
      npx.child.kill(signal)
      await until('the consumer has ended', () => !lives(pid))
      const { rows: ended } = await pool.query('select ended_at is not null as ended from onceward.run')
      assert.deepEqual(ended, [{ ended: true }])
      assert.match(npx.output.stdout, /stopped:/)
    })
})

function link(folder: string): void {
  const bin = join(folder, 'node_modules', '.bin')
  mkdirSync(bin, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{"name":"by-npx","private":true,"type":"module"}')
  const command = join(bin, 'onceward')
  writeFileSync(command, `#!/bin/sh\nexec ${process.execPath} ${cliFlags.join(' ')} ${cliMain} "$@"\n`)
  chmodSync(command, 0o755)
}

function lives(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

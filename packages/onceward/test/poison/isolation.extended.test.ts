import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { until } from 'onceward/testing'
import { createEmptyDatabase, skipWithout } from '../services/services.ts'
import type { Death } from './death.ts'
import { attemptsMax } from './poison-contract.ts'
import { openScene } from './scene.ts'

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url))
const neighbours = 15
/** In groups that are halved at each death it takes so many until the killer is alone. */
const deathsInGroups = Math.log2(neighbours + 1)

describe('a contract that asks for isolation', await skipWithout('postgres'), () => {
  for (const how of ['loop', 'memory', 'exit'] as const satisfies readonly Death[]) {
    test(`onceward run survives a handler that ends in ${how}, and parks its message`, {
      timeout: 240_000,
    }, async () => {
      const killer = 'pay-7'
      await using scene = await openScene({ kind: 'postgres', killer, how })
      await scene.publish(Array.from({ length: neighbours + 1 }, (_, n) => `pay-${n}`))
      const command = run(scene.database.url, scene.orders)
      try {
        await until(
          'the killer is parked and the others are through',
          async () =>
            (await scene.held()).some(({ code }) => code === 'process_died') &&
            (await scene.effects()).ids === neighbours,
          { deadlineMs: 200_000 },
        )
        assert.equal(command.child.exitCode, null, 'the supervisor has not ended')
        assert.deepEqual(await scene.effects(), { ids: neighbours, times: neighbours })
        const [{ id, attempts }] = (await scene.held()) as [{ id: string; attempts: number }]
        assert.deepEqual([id, attempts], [killer, attemptsMax])
        command.child.kill('SIGTERM')
        assert.equal(await command.ended, 0, command.output())
        const deaths = command.output().match(/crashed, restarting/g)
        assert.ok(deaths!.length <= attemptsMax + deathsInGroups + 1, command.output())
        // A heap that overflows may take longer to collect than the deadline: killed then, too.
        if (how === 'loop') assert.match(command.output(), /is silent, killing it/)
      } finally {
        // Not SIGKILL: a child in an endless loop would be left behind.
        command.child.kill('SIGTERM')
        await command.ended
      }
    })
  }

  test('a child that cannot start is not restarted: its error and exit code are returned', async () => {
    const database = await createEmptyDatabase()
    const orders = {
      declaration: { kind: 'postgres', queue: 'q' },
      killer: { id: '', how: 'exit' },
      stored: false,
    }
    const command = run(database.url, orders)
    try {
      assert.notEqual(await command.ended, 0)
      assert.match(command.output(), /onceward migrate/)
      assert.doesNotMatch(command.output(), /started again/)
    } finally {
      command.child.kill('SIGKILL')
      await database.drop()
    }
  })
})

function run(databaseUrl: string, orders: object) {
  const child = spawn(
    process.execPath,
    ['--conditions=@onceward/source', path('../../src/cli/main.ts'), 'run', path('isolated-consumer.ts')],
    {
      env: { ...process.env, ONCEWARD_DATABASE_URL: databaseUrl, VICTIM_ORDERS: JSON.stringify(orders) },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => (output += String(chunk)))
  const ended = new Promise<number | null>(resolve => child.once('close', code => resolve(code)))
  return { child, ended, output: () => output }
}

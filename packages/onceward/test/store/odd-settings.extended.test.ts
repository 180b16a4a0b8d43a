import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { skipWithout } from '../services/services.ts'

/**
 * Files that cover consumer, workers, dispatcher, relay, retention, parked commands, campaigns, explain and
 * every declared effect.
 */
const files = [
  'work/stored.test.ts',
  'effects/external/flow.test.ts',
  'effects/relay.test.ts',
  'retention/purge.test.ts',
  'retention/days.test.ts',
  'parking/operate.test.ts',
  'parking/audit.test.ts',
  'replay/parked.test.ts',
  'replay/given-up.test.ts',
  'evidence/explain.test.ts',
  'effects/exact-columns.test.ts',
  'effects/exact-values.test.ts',
  'effects/projection.test.ts',
  'effects/projection-gaps.test.ts',
  'effects/projection-version.test.ts',
  'effects/transition.test.ts',
  'effects/contribution.test.ts',
  'effects/contribution-ledger.test.ts',
  'effects/hopping-windows.test.ts',
  'effects/audit.test.ts',
  'effects/after.test.ts',
]

describe('under unusual settings', await skipWithout('postgres'), () => {
  for (const file of files)
    test(`${file} passes as with default settings`, { timeout: 300_000 }, async () => {
      const { NODE_TEST_CONTEXT: _, ...env } = process.env
      const path = fileURLToPath(new URL(`../${file}`, import.meta.url))
      const flags = process.execArgv.filter(flag => !flag.startsWith('--test'))
      // Without --test, which would mark the processes that the file starts as test files.
      const child = spawn(process.execPath, [...flags, path], {
        env: { ...env, ONCEWARD_TEST_SETTINGS: 'odd' },
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      let said = ''
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', chunk => {
          said += chunk
        })
      const code = await new Promise(resolve => child.once('close', resolve))
      assert.equal(code, 0, said)
    })
})

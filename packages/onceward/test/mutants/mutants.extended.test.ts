import assert from 'node:assert/strict'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { skipWithout } from '../services/services.ts'
import { scoreMin } from './deciders.ts'
import { mutants } from './list/index.ts'
import { runMutants } from './run-mutants.ts'
import { runStryker } from './run-stryker.ts'

const root = dirname(dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url))))))
const log = (line: string) => console.log(line)

test('every mutant of the list is caught', await skipWithout('postgres', 'rabbitmq', 'kafka'), async () => {
  const run = { root, env: process.env, jobs: 2, timeoutMs: 300_000, log }
  assert.deepEqual((await runMutants(mutants, run)).survivors, [])
})

test(`tests catch ${scoreMin} per cent of the mutants of the deciders`, async () => {
  const { ok, caught, mutants: all } = await runStryker({ root, jobs: 2, words: [], log })
  assert.ok(ok, `${caught} of ${all}`)
})

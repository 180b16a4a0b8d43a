import assert from 'node:assert/strict'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { skipWithout } from '../services/services.ts'
import { deciderParts, scoreMin } from './deciders.ts'
import type { Mutant } from './mutant.ts'
import { runMutants } from './run-mutants.ts'
import { runStryker } from './run-stryker.ts'

const root = dirname(dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url))))))
const jobs = 2
const log = (line: string) => console.log(line)

/** One part of the list per file, so that each fits into the time of a test file. */
export async function testMutants(part: string, mutants: readonly Mutant[]): Promise<void> {
  const skip = await skipWithout('postgres', 'rabbitmq', 'kafka')
  test(`every mutant of ${part} is caught`, skip, async () => {
    const run = { root, env: process.env, jobs, timeoutMs: 300_000, log }
    assert.deepEqual((await runMutants(mutants, run)).survivors, [])
  })
}

export function testDeciders(part: keyof typeof deciderParts): void {
  test(`tests catch ${scoreMin} per cent of the mutants of deciders: ${part}`, async () => {
    const words = deciderParts[part]
    const { ok, caught, mutants } = await runStryker({ root, jobs, words, log })
    assert.ok(ok, `${caught} of ${mutants}`)
  })
}

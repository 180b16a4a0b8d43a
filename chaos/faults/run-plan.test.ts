import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FaultPlan } from '../plan/faults.ts'
import { runPlan } from './run-plan.ts'
import type { Stage } from './stage.ts'

const plan: FaultPlan = { processes: [{ kind: 'clock jump', at: 0, draw: 0 }], servers: [], people: [] }

/** What happened while a fault could not be staged for so long. */
async function failingFor(ms: number) {
  let waitedMs = 0
  const pause = async (pauseMs: number) => {
    waitedMs += pauseMs
  }
  const jump = () => {
    if (waitedMs < ms) throw new Error('the broker does not answer')
  }
  const signal = new AbortController().signal
  const stage = { signal, log: { add() {} }, fleet: { jump } } as unknown as Stage
  return runPlan(plan, stage, () => 1, pause)
}

test('an operator tries again for longer than a broker needs to come back, and not for ever', async () => {
  assert.deepEqual(await failingFor(95_000), { 'clock jump': 1 })
  assert.deepEqual(await failingFor(Infinity), {})
})

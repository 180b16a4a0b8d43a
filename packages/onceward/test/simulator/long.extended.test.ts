import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { test } from 'node:test'
import { type ScenarioName, simulationScenarios } from 'onceward/testing'
import { readable } from './readable.ts'
import { SimulationThread } from './thread.ts'

const minutes = 5
const schedules = 300
const names = Object.keys(simulationScenarios) as ScenarioName[]

test(`${minutes} minutes of schedules with numbers of their own`, async t => {
  const thread = new SimulationThread()
  t.after(() => thread.end())
  const end = performance.now() + minutes * 60_000
  let total = 0
  let seed = randomInt(1_000_000, 2 ** 30)
  t.diagnostic(`from seed ${seed}`)
  while (performance.now() < end) {
    for (const scenario of names) {
      const report = await thread.run({ schedules, seed, scenario })
      total += report.schedules
      assert.equal(report.failure, undefined, readable(report))
    }
    seed += schedules
  }
  assert.ok(total >= names.length * schedules, `${total} schedules`)
})

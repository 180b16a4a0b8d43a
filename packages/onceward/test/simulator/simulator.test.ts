import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import {
  type CrashPoint,
  crashPoints,
  faultKinds,
  runSimulation,
  type ScenarioName,
  type SimulationReport,
  simulationScenarios,
  traceSchedule,
} from 'onceward/testing'
import { readable } from './readable.ts'
import { SimulationThread } from './thread.ts'

const schedules = 200
const names = Object.keys(simulationScenarios) as ScenarioName[]

describe('the shipped engine keeps its promises in every schedule', () => {
  const reports: SimulationReport[] = []
  const thread = new SimulationThread()
  after(() => thread.end())
  for (const scenario of names) {
    test(`${schedules} of ${scenario}`, async () => {
      const report = await thread.run({ schedules, scenario })
      reports.push(report)
      assert.equal(report.failure, undefined, readable(report))
    })
  }

  test('in which every kind of fault occurred many times', () => {
    for (const kind of faultKinds) {
      const fired = reports.reduce((sum, { faultsFired }) => sum + (faultsFired[kind] ?? 0), 0)
      assert.ok(fired >= 50, `${kind} happened ${fired} times: a run without it proves nothing about it`)
    }
  })

  test('and processes were killed after every crash point of a batch and of a drain', () => {
    const points = (Object.keys(crashPoints) as CrashPoint[]).filter(point => /^(batch|drain)\./.test(point))
    assert.ok(points.length >= 7)
    for (const point of points) {
      const kills = reports.reduce((sum, { killsAfter }) => sum + (killsAfter[point] ?? 0), 0)
      assert.ok(kills >= 15, `${kills} processes were killed after ${point}`)
    }
  })
})

describe('a schedule is determined by its number', () => {
  for (const scenario of ['queue key order', 'log checkpoint'] as const) {
    test(`the same one twice is the same, step by step: ${scenario}`, async () => {
      for (let seed = 1; seed <= 50; seed++) {
        const [first, second] = [
          await traceSchedule({ scenario, seed }),
          await traceSchedule({ scenario, seed }),
        ]
        assert.deepEqual(first.trace, second.trace)
        assert.equal(first.hash, second.hash)
      }
    })
  }

  test('another number is another schedule', async () => {
    const hashes = new Set<string>()
    for (let seed = 1; seed <= 200; seed++)
      hashes.add((await traceSchedule({ scenario: 'queue', seed })).hash)
    assert.ok(hashes.size > 195, `${hashes.size} of 200 differ`)
  })

  test('tracing does not change it', async () => {
    const { steps } = await traceSchedule({ scenario: 'log', seed: 7 })
    assert.equal((await runSimulation({ scenario: 'log', seed: 7, schedules: 1 })).steps, steps)
  })
})

import { describe, test } from 'node:test'
import type { CrashPoint } from 'onceward/testing'
import { skipWithout } from '../services/services.ts'
import { runScenario } from './run-scenario.ts'
import { crashScenarios } from './scenarios.ts'

for (const [broker, service] of [
  ['postgres', 'postgres'],
  ['rabbitmq', 'rabbitmq'],
  ['rabbitmq-stream', 'rabbitmq'],
] as const) {
  describe(`kill -9 at every crash point, on ${broker}`, {
    concurrency: 2,
    ...(await skipWithout('postgres', service)),
  }, () => {
    for (const [point, scenario] of Object.entries(crashScenarios)) {
      if (scenario.without?.[broker] !== undefined) continue
      for (const hit of scenario.hits) {
        test(`${point}, passage ${hit}: restart loses nothing and doubles nothing`, () =>
          runScenario(point as CrashPoint, broker, hit))
      }
    }
  })
}

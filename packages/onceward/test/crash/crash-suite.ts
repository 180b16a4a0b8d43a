import { describe, test } from 'node:test'
import { skipWithout } from '../services/services.ts'
import { type BrokerKind, serviceOf } from './brokers.ts'
import { runScenario } from './run-scenario.ts'
import { runsOn } from './scenarios.ts'
import type { Memory } from './workload.ts'

const names: Record<Memory, string> = {
  'after effect': '',
  stored: ', stored',
  handed: ', handed',
  deferred: ', deferred',
  'with effect': ', position with effect',
  checkpoint: ', position checkpoint',
}

/** Scenarios mostly wait: for a session to end, for a lease. */
const atOnce = 4

/** One file per broker calls it, so that they share the machine and none of them has to be long. */
export async function crashSuite(broker: BrokerKind): Promise<void> {
  const { runs, skipped } = runsOn(broker)
  describe(`kill -9 at every crash point, on ${broker}`, {
    concurrency: atOnce,
    ...(await skipWithout('postgres', serviceOf[broker])),
  }, () => {
    for (const { point, hit, memory } of runs) {
      const kept = names[memory]
      test(`${point}, passage ${hit}${kept}: restart loses nothing and doubles nothing`, () =>
        runScenario(point, broker, hit, memory))
    }
    for (const [point, reason] of skipped) test(`${point} does not exist here`, { skip: reason }, () => {})
  })
}

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { simulationScenarios } from 'onceward/testing'
import type { Scenario } from '../../src/testing/simulator/scenarios.ts'
import type { Combination } from '../matrix/dimensions.ts'
import { choosable } from '../matrix/refusal.ts'

/** What the simulated store and sources have no part of; the matrix runs these on real servers. */
const notSimulated: readonly (readonly [(one: Combination) => boolean, string])[] = [
  [one => one.mode !== 'live', 'campaigns read another source into other tables'],
  [one => one.inbox === 'stored', 'the simulated store keeps no work'],
  [one => one.failure !== 'block', 'the simulated store keeps no work, and there are no retry queues'],
  [one => one.dedup === 'version', 'declared effects are SQL'],
  [one => one.store !== 'pooled', 'there is one simulated store'],
]
const kindOf: Readonly<Record<Combination['source'], Scenario['source']>> = {
  rabbitmq: 'queue',
  postgres: 'queue',
  kafka: 'log',
  'rabbitmq-stream': 'log',
  file: 'log',
}

describe('the simulator has a scenario for', () => {
  const simulated = choosable.filter(one => notSimulated.every(([isOne]) => !isOne(one)))
  const wanted = Map.groupBy(
    simulated,
    ({ source, order, dedup }) => `${kindOf[source]} · ${order} · ${dedup}`,
  )
  const scenarios = Object.values(simulationScenarios).map(
    ({ source, order, dedup }) => `${source} · ${order} · ${dedup}`,
  )
  for (const name of wanted.keys())
    test(name, () => {
      assert.ok(scenarios.includes(name))
    })

  test('no combination that cannot be chosen', () => {
    assert.deepEqual(
      scenarios.filter(name => !wanted.has(name)),
      [],
    )
  })
})

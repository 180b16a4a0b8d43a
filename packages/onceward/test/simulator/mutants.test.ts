import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { runSimulation, type ScenarioName } from 'onceward/testing'
import type { InvariantName } from '../../src/testing/simulator/invariants.ts'
import type { Around } from '../../src/testing/simulator/schedule.ts'
import { ackFirst, commitPastUnfinished, duplicateInBatch, noFence, splitTransaction } from './seeded-bugs.ts'

interface Mutant {
  readonly bug: Around
  readonly scenario: ScenarioName
  readonly within: number
  /** Whichever comes first. */
  readonly breaks: readonly InvariantName[]
}

const mutants: Record<string, Mutant> = {
  'ack first, on a queue': { bug: ackFirst, scenario: 'queue', within: 3, breaks: ['acked means terminal'] },
  'ack first, on a log': {
    bug: ackFirst,
    scenario: 'log',
    within: 3,
    breaks: ['checkpoint behind the lowest unfinished'],
  },
  'split transaction': {
    bug: splitTransaction,
    scenario: 'queue',
    within: 3,
    breaks: ['marker and effect together'],
  },
  'commit past unfinished, told to the broker': {
    bug: commitPastUnfinished,
    scenario: 'log',
    within: 50,
    breaks: ['checkpoint behind the lowest unfinished'],
  },
  'commit past unfinished, written to the store': {
    bug: commitPastUnfinished,
    scenario: 'log store position',
    within: 50,
    breaks: ['checkpoint behind the lowest unfinished'],
  },
  'no fence': {
    bug: noFence,
    scenario: 'log checkpoint',
    within: 300,
    breaks: ['no write under a stale epoch', 'one effect per message'],
  },
  'duplicate in a batch': {
    bug: duplicateInBatch,
    scenario: 'queue batch',
    within: 200,
    breaks: ['one effect per message', 'acked means terminal'],
  },
}

describe('a seeded bug is found', () => {
  for (const [name, { bug: around, scenario, within, breaks }] of Object.entries(mutants)) {
    test(`${name}: within ${within} schedules, from any seed`, async () => {
      for (const seed of [1, 100_001, 200_001]) {
        const { failure } = await runSimulation({ schedules: within, seed, scenario, around })
        assert.ok(failure !== undefined, 'not found')
        assert.ok(breaks.includes(failure.invariant), failure.what)
        assert.ok(failure.trace.at(-1)!.includes('BROKEN'), 'the trace ends with the breach')
      }
    })
  }

  test('and its schedule passes without the bug', async () => {
    const { bug: around, scenario, within } = mutants['no fence']!
    const { failure } = await runSimulation({ schedules: within, scenario, around })
    const { seed, faults } = failure!
    assert.equal((await runSimulation({ schedules: 1, seed, faults, scenario })).failure, undefined)
    const again = await runSimulation({ schedules: 1, seed, faults, scenario, around })
    assert.deepEqual(again.failure?.trace, failure!.trace)
  })
})

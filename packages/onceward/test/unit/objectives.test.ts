import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { durationMs } from '../../src/contract/duration.ts'
import { type ConsumerContract, defineConsumer, type OncewardError } from '../../src/index.ts'

const contract: ConsumerContract = {
  name: 'payment_capture',
  owner: 'payments',
  risk: 'money',
  source: { kind: 'memory' },
  identity: { id: { header: 'id' } },
  handle: () => {},
}
const objectivesOf = (changes: Partial<ConsumerContract>) =>
  defineConsumer({ ...contract, ...changes }).objectives

describe('objectives', () => {
  test('have defaults for every number, by risk', () => {
    assert.deepEqual(objectivesOf({}), {
      lagMaxMs: 60_000,
      lagRecordsMax: 1_000,
      applyP99MaxMs: 5_000,
      duplicateShareMax: 0.1,
      setAsideMax: 0,
      setAsideAgeMaxMs: 86_400_000,
      leasesExpiredPerHourMax: 5,
      outboxAgeMaxMs: 60_000,
      parkingShareMax: 0.8,
      idleMaxMs: null,
    })
    const telemetry = objectivesOf({ risk: 'telemetry', batch: { handlerTimeoutMs: 60_000 } })
    assert.equal(telemetry.lagMaxMs, durationMs('15m'))
    assert.equal(telemetry.lagRecordsMax, 100_000)
    assert.equal(telemetry.applyP99MaxMs, 30_000)
    assert.equal(telemetry.setAsideMax, 10)
  })

  test('are what the contract says, and the outbox follows the lag', () => {
    const said = objectivesOf({ objectives: { lagMax: '10s', duplicateShareMax: 0.5, idleMax: '2h' } })
    assert.deepEqual(
      [said.lagMaxMs, said.outboxAgeMaxMs, said.duplicateShareMax, said.idleMaxMs],
      [10_000, 10_000, 0.5, 7_200_000],
    )
  })

  const refused: readonly [changes: object, place: string, text: RegExp][] = [
    [{ objectives: { lagMaxx: 1 } }, 'objectives.lagMaxx', /did you mean 'lagMax'/],
    [{ objectives: { lagMax: 'soon' } }, 'objectives.lagMax', /such as/],
    [{ objectives: { lagMax: 10 } }, 'objectives.lagMax', /from 1 s/],
    [{ objectives: { idleMax: '90d' } }, 'objectives.idleMax', /31 d/],
    [{ objectives: { applyP99Max: 0 } }, 'objectives.applyP99Max', /1 ms/],
    [{ objectives: { duplicateShareMax: 10 } }, 'objectives.duplicateShareMax', /share/],
    [{ objectives: { parkingShareMax: Number.NaN } }, 'objectives.parkingShareMax', /share/],
    [{ objectives: { setAsideMax: -1 } }, 'objectives.setAsideMax', /whole number/],
    [{ objectives: [] }, 'objectives', /object/],
    [{ producer: ' ' }, 'producer', /team/],
    [{ producer: 7 }, 'producer', /team/],
  ]
  for (const [changes, place, text] of refused) {
    test(`are refused: ${JSON.stringify(changes)}`, () => {
      assert.throws(
        () => defineConsumer({ ...contract, ...changes }),
        (error: OncewardError) => {
          const problems = error.details.problems as readonly { place: string; text: string }[]
          assert.deepEqual(
            problems.map(one => one.place),
            [place],
          )
          assert.match(problems[0]!.text, text)
          return error.code === 'contract_invalid'
        },
      )
    })
  }
})

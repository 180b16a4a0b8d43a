import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nearestName } from '../../src/ports/nearest-name.ts'

const names = ['attemptsMax', 'delayMs', 'mode', 'classes', 'deadLetter']

for (const [given, expected] of [
  ['attemptMax', 'attemptsMax'],
  ['deadletter', 'deadLetter'],
  ['delayms', 'delayMs'],
  ['ATTEMPTSMAX', 'attemptsMax'],
  ['moed', 'mode'],
  ['class', 'classes'],
  ['timeout', null],
  ['', null],
  ['x', null],
] as const) {
  test(`'${given}' is nearest to ${expected ?? 'nothing'}`, () =>
    assert.equal(nearestName(given, names), expected))
}

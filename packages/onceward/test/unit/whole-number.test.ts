import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { rowNumber, wholeNumber } from '../../src/cli/whole-number.ts'

describe('numbers that people type', () => {
  test('of rows may be larger than a JavaScript number counts exactly', () =>
    assert.equal(rowNumber('900719925474099300', 'the number', 'x'), '900719925474099300'))

  test('of how many fit an integer column', () => {
    assert.equal(wholeNumber('999999999', '--limit', 'x'), 999_999_999)
    assert.throws(() => wholeNumber('1000000000', '--limit', 'x'), /--limit/)
  })

  for (const wrong of ['', '0', '-1', '1.5', '1e3', '07', ' 1', '1\n', 'many', '１'])
    test(`${JSON.stringify(wrong)} is refused with the command that helps`, () => {
      const expected = { code: 'usage', message: /Nothing was changed; see "onceward work list"/ }
      assert.throws(() => rowNumber(wrong, 'the number', 'onceward work list'), expected)
      assert.throws(() => wholeNumber(wrong, '--limit', 'onceward work list'), expected)
    })
})

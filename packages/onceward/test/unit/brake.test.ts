import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { findMassFailure, type LatestEnd } from '../../src/engine/retry/brake.ts'

const rules = { messagesMin: 20, shareMin: 0.25 }
const tries = (count: number, cause: string | null, keys = 5): LatestEnd[] =>
  Array.from({ length: count }, (_, n) => ({ key: `k${n % keys}`, cause }))

describe('a mass failure', () => {
  test('is one cause of many messages under several keys', () =>
    assert.equal(findMassFailure(tries(20, 'c'), rules), 'c'))
  test('needs that many messages', () => assert.equal(findMassFailure(tries(19, 'c'), rules), null))
  test('is not one key', () => assert.equal(findMassFailure(tries(500, 'c', 1), rules), null))
  test('is not several causes together', () =>
    assert.equal(findMassFailure([...tries(19, 'a'), ...tries(19, 'b')], rules), null))
  test('is a share of the recent messages', () => {
    assert.equal(findMassFailure([...tries(60, null), ...tries(20, 'c')], rules), 'c')
    assert.equal(findMassFailure([...tries(61, null), ...tries(20, 'c')], rules), null)
  })
  test('is a new cause', () =>
    assert.equal(
      findMassFailure(tries(50, 'c'), rules, () => true),
      null,
    ))
})

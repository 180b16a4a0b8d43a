import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { RepeatPolicy } from '../../src/contract/external-target.ts'
import { decideResult, longestDelayMs } from '../../src/effects/external/decide-result.ts'
import { type AnswerJudgement, judgement } from '../../src/effects/external/judge-answer.ts'

const target = (policy: RepeatPolicy) => ({
  policy,
  attemptsMax: 3,
  delayMs: 100,
  delayMaxMs: 1_000,
  queryDelayMs: 700,
})
const fresh = { attempts: 1, attemptsForgiven: 0, doubtful: false }
const doubtful = { ...fresh, doubtful: true }
const decide = (
  policy: RepeatPolicy,
  effect: typeof fresh,
  result: AnswerJudgement['result'],
  changes: Partial<AnswerJudgement> = {},
) => decideResult(effect, { ...judgement(result, null), ...changes }, target(policy), 0.5)

const ended = (state: string) => ({ state, delayMs: null })

describe('the next state of an external effect', () => {
  test('a completed call ends every doubt', () => {
    for (const policy of ['keyed', 'query first', 'at most once', 'manual'] as const)
      assert.deepEqual(decide(policy, doubtful, 'completed', { mustNotRepeat: true }), ended('completed'))
  })

  test('a call that may have happened is repeated, queried, left or given to an operator', () => {
    assert.deepEqual(decide('keyed', fresh, 'unknown'), { state: 'unknown', delayMs: 50 })
    assert.deepEqual(decide('query first', fresh, 'unknown'), { state: 'unknown', delayMs: 700 })
    assert.deepEqual(decide('at most once', fresh, 'unknown'), ended('unknown'))
    assert.deepEqual(decide('manual', fresh, 'unknown'), ended('reconciling'))
    assert.deepEqual(decide('keyed', fresh, 'unknown', { mustNotRepeat: true }), ended('reconciling'))
    assert.deepEqual(decide('at most once', fresh, 'unknown', { mustNotRepeat: true }), ended('reconciling'))
  })

  test('an earlier doubt survives a later refusal, unless the answer ends it', () => {
    assert.deepEqual(decide('keyed', doubtful, 'failed'), ended('unknown'))
    assert.deepEqual(decide('keyed', doubtful, 'failed', { endsDoubt: true }), ended('failed'))
    assert.deepEqual(decide('keyed', fresh, 'failed'), ended('failed'))
    assert.deepEqual(decide('keyed', doubtful, 'unknown', { endsDoubt: true }), {
      state: 'unknown',
      delayMs: 50,
    })
    assert.deepEqual(decide('manual', doubtful, 'retryable'), ended('reconciling'))
    assert.deepEqual(decide('at most once', doubtful, 'retryable', { notStarted: true }), ended('unknown'))
    assert.deepEqual(decide('keyed', doubtful, 'retryable', { mustNotRepeat: true }), ended('reconciling'))
    assert.deepEqual(decide('keyed', fresh, 'retryable', { mustNotRepeat: true }), {
      state: 'retryable',
      delayMs: 50,
    })
  })

  test('attempts are limited; forgiven ones do not count', () => {
    const used = (attempts: number, attemptsForgiven = 0) =>
      decide('keyed', { ...fresh, attempts, attemptsForgiven }, 'retryable')
    assert.deepEqual(used(2), { state: 'retryable', delayMs: 100 })
    assert.deepEqual(used(3), ended('failed'))
    assert.deepEqual(used(5, 3), { state: 'retryable', delayMs: 100 })
    assert.deepEqual(used(5, 2), ended('failed'))
    assert.deepEqual(used(3, 3), { state: 'retryable', delayMs: 50 })
    assert.deepEqual(decide('keyed', { ...doubtful, attempts: 3 }, 'retryable'), ended('unknown'))
  })

  test('at most once repeats only what has not started', () => {
    assert.deepEqual(decide('at most once', fresh, 'retryable'), ended('failed'))
    assert.deepEqual(decide('at most once', fresh, 'retryable', { notStarted: true }), {
      state: 'retryable',
      delayMs: 50,
    })
    assert.deepEqual(decide('keyed', fresh, 'retryable'), { state: 'retryable', delayMs: 50 })
  })

  test('waits as long as the target asks, at most a quarter of an hour', () => {
    const asks = (retryAfterMs: number | null) =>
      decide('keyed', fresh, 'retryable', { retryAfterMs }).delayMs
    assert.deepEqual([asks(null), asks(20), asks(5_000), asks(10 ** 9)], [50, 50, 5_000, 900_000])
    assert.equal(decide('query first', fresh, 'retryable').delayMs, 50)
    assert.equal(decide('keyed', fresh, 'unknown').delayMs, 50)
  })

  test('the longest delay of a target is the longest of the three', () => {
    assert.equal(longestDelayMs({ delayMaxMs: 5, queryDelayMs: 6 }), 900_000)
    assert.equal(longestDelayMs({ delayMaxMs: 10 ** 7, queryDelayMs: 6 }), 10 ** 7)
    assert.equal(longestDelayMs({ delayMaxMs: 5, queryDelayMs: 10 ** 8 }), 10 ** 8)
  })
})

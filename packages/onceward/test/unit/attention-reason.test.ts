import assert from 'node:assert/strict'
import { test } from 'node:test'
import { failureRules } from '../../src/contract/failure-rules.ts'
import { decideOutcome, noAttempts } from '../../src/engine/batch/decide-outcome.ts'
import type { Fact } from '../../src/engine/batch/outcome.ts'
import { Verdict } from '../../src/engine/batch/verdicts.ts'
import { attentionReason } from '../../src/telemetry/attention-reason.ts'

const rules = failureRules({ failure: { attemptsMax: 3 } } as never)

/** The reason under which a message counts that was decided so at its third attempt. */
function reasonFor(fact: Fact) {
  const of = fact.kind === 'failed' ? fact.failure.class : fact.kind
  const attempt = { ...noAttempts, total: 3, byClass: { [of]: 3 } }
  const { status, failureClass, code, exhausted } = decideOutcome(fact, attempt, rules)
  assert.ok(status !== null)
  const reason = attentionReason({ state: status, class: failureClass, code }, rules)
  // The counter of exhausted messages has it under the same class.
  if (reason !== 'poison') assert.equal(exhausted, reason === 'exhausted' ? failureClass : null)
  return reason
}

const failed = (failureClass: string): Fact => ({
  kind: 'failed',
  failure: { class: failureClass as never, code: 'E', error: 'failed', place: '' },
})
const unreadable = (kind: string): Fact => ({
  kind: 'unreadable',
  problem: { kind: kind as never, text: 'why' },
})

test('every message that is set aside has one reason, from its decision', () => {
  for (const kind of ['undecodable', 'invalid', 'over limit', 'id missing', 'unknown type'])
    assert.equal(reasonFor(unreadable(kind)), 'unreadable', kind)
  assert.equal(reasonFor({ kind: 'seen', status: 'applied', sameDigest: false }), 'conflict')
  assert.equal(reasonFor({ kind: 'business seen', byId: 'a', sameDigest: false }), 'conflict')
  assert.equal(reasonFor({ kind: 'killed', attempts: 3, deaths: 3 }), 'poison')
  assert.equal(reasonFor(failed('poison')), 'poison')
  assert.equal(reasonFor(failed('transient')), 'exhausted')
  assert.equal(reasonFor(failed('unclassified')), 'exhausted')
  assert.equal(reasonFor({ kind: 'verdict', verdict: Verdict.retryAfter(1) }), 'exhausted')
  assert.equal(reasonFor({ kind: 'verdict', verdict: Verdict.retryAfter(1, 'why', 'park') }), 'exhausted')
  assert.equal(reasonFor({ kind: 'verdict', verdict: Verdict.park('why') }), 'set aside')
  assert.equal(reasonFor({ kind: 'verdict', verdict: Verdict.reject('why', 'retry') }), 'set aside')
  assert.equal(reasonFor(failed('corruption')), 'corrupt')
  assert.equal(reasonFor(failed('validation')), 'set aside')
  assert.equal(reasonFor(failed('business conflict')), 'set aside')
})

test('a message that waits behind another is not counted', () => {
  assert.equal(reasonFor({ kind: 'behind', leader: 'parked', delayMs: 0 }), null)
})

test('rows of an unknown class still need attention', () => {
  assert.equal(attentionReason({ state: 'parked', class: '', code: '' }, rules), 'set aside')
  assert.equal(attentionReason({ state: 'dead', class: 'constructor', code: '' }, rules), 'set aside')
})

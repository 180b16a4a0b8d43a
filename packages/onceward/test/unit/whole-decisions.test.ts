import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ConsumerContract } from 'onceward'
import { failureRules } from '../../src/contract/failure-rules.ts'
import {
  appliedDecision,
  countsAsAttempt,
  decideOutcome,
  noAttempts,
  storedDecision,
} from '../../src/engine/batch/decide-outcome.ts'
import type { Decision, Fact, Failure } from '../../src/engine/batch/outcome.ts'
import { Verdict } from '../../src/engine/batch/verdicts.ts'
import { haltingCodes } from '../../src/engine/retry/known-failures.ts'

const rulesOf = (failure: ConsumerContract['failure'] = {}) =>
  failureRules({
    owner: 'o',
    risk: 'low value',
    failure: { attemptsMax: 3, delayMs: 100, delayMaxMs: 1_000, ...failure },
  } as ConsumerContract)
const policy = { ...rulesOf(), jitter: false }

const plain: Decision = {
  outcome: 'applied',
  reason: '',
  status: null,
  failureClass: '',
  code: '',
  error: null,
  place: '',
  retryDelayMs: 0,
  attempts: 0,
  exhausted: null,
  waits: null,
  blocksKey: false,
  outOfTurn: false,
  outage: false,
  braked: false,
}

function is(fact: Fact, expected: Partial<Decision>, changes: Partial<typeof policy> = {}, total = 2): void {
  const attempt = { ...noAttempts, total, byClass: { transient: total }, random: 0.5 }
  assert.deepEqual(decideOutcome(fact, attempt, { ...policy, ...changes }), { ...plain, ...expected })
}

const order = { failureClass: 'order', outcome: 'parked', status: 'parked' } as const
const failure = (kind: Failure['class'], code = 'E'): Fact => ({
  kind: 'failed',
  failure: { class: kind, code, error: 'Error: e', exception: 'Refused', place: 'p' },
})
const failed = { code: 'E', error: 'Error: e', exception: 'Refused', place: 'p', attempts: 2 }

describe('every part of a decision', () => {
  test('of a message that was applied or stored', () => {
    is({ kind: 'handled' }, {})
    is({ kind: 'kept' }, { outcome: 'stored', status: 'stored' })
    assert.deepEqual(
      [appliedDecision, storedDecision],
      [plain, { ...plain, outcome: 'stored', status: 'stored' }],
    )
    assert.deepEqual(noAttempts, {
      total: 0,
      byClass: {},
      same: 0,
      random: 0,
      outageMs: null,
      brakedMs: null,
    })
  })

  test('of a message that is known already', () => {
    const seen = (status: 'applied' | 'parked' | 'waiting' | 'stored' | 'dead', sameDigest = true): Fact => ({
      kind: 'seen',
      status,
      sameDigest,
    })
    is(seen('applied'), { outcome: 'duplicate', reason: 'already applied' })
    is(seen('dead'), { outcome: 'duplicate', reason: 'already dead' })
    for (const status of ['parked', 'waiting', 'stored'] as const)
      is(seen(status), { outcome: 'already held', reason: 'held since an earlier delivery' })
    const conflict = {
      outcome: 'quarantined',
      status: 'quarantined',
      failureClass: 'corruption',
      code: 'conflict',
    } as const
    is(seen('applied', false), { ...conflict, reason: 'same id, other content' })
    const business = { kind: 'business seen', byId: 'x' } as const
    is(
      { ...business, sameDigest: true },
      { outcome: 'duplicate', status: 'duplicate', reason: 'same business key as x' },
    )
    is({ ...business, sameDigest: false }, { ...conflict, reason: 'same business key as x, other content' })
    is({ kind: 'given up', reason: 'by ann' }, { outcome: 'duplicate', reason: 'by ann', code: 'given_up' })
  })

  test('of an unreadable message', () => {
    const problem = { kind: 'undecodable', text: 'no JSON' } as const
    const poison = { failureClass: 'poison', reason: 'no JSON' }
    const quarantined = { outcome: 'quarantined', status: 'quarantined' } as const
    is({ kind: 'unreadable', problem }, { ...poison, ...quarantined, code: 'undecodable', attempts: 2 })
    is(
      { kind: 'unreadable', problem },
      { ...poison, ...quarantined, code: 'undecodable', attempts: 1 },
      {},
      0,
    )
    const unexpected = { outcome: 'parked', status: 'parked' } as const
    for (const kind of ['unknown type', 'unsupported version'] as const)
      is(
        { kind: 'unreadable', problem: { kind, text: 'no JSON' } },
        { ...poison, ...unexpected, code: kind.replace(' ', '_'), attempts: 2 },
        { unexpected: 'parked' },
      )
    const invalid = {
      ...policy.rules,
      validation: { ...policy.rules.validation, terminal: 'quarantined' as const },
    }
    is(
      { kind: 'unreadable', problem: { kind: 'invalid', text: 'no JSON' } },
      { ...quarantined, reason: 'no JSON', failureClass: 'validation', code: 'invalid', attempts: 2 },
      { rules: invalid, unreadable: 'parked' },
    )
    is(
      { kind: 'unreadable', problem: { kind: 'unknown schema', text: 'schema 7' } },
      { ...unexpected, ...poison, reason: 'schema 7', code: 'unknown_schema', attempts: 2 },
      { unreadable: 'quarantined', unexpected: 'quarantined' },
    )
    is(
      { kind: 'unreadable', problem: { kind: 'registry unavailable', text: 'no answer' } },
      {
        outcome: 'retry',
        reason: 'no answer',
        failureClass: 'transient',
        code: 'registry_unavailable',
        outage: true,
        retryDelayMs: 1_000,
      },
    )
    const earlier = { deaths: 1, attempts: 4 }
    const died = { failureClass: 'poison', code: 'process_died', attempts: 4, exhausted: 'poison' }
    const reason = 'its process crashed 1 time'
    is(
      { kind: 'unreadable', problem: { ...problem, earlier } as never },
      { ...died, outcome: 'parked', status: 'parked', reason, error: reason },
      { exhausted: 'parked' },
    )
  })

  test('of a verdict of the handler', () => {
    const verdict = (given: Verdict): Fact => ({ kind: 'verdict', verdict: given })
    for (const kind of ['ignore', 'duplicate', 'stale'] as const) {
      const outcome = kind === 'ignore' ? 'ignored' : kind
      is(verdict(Verdict[kind]('r', 'c')), { outcome, status: outcome, reason: 'r', code: 'c' })
    }
    is(verdict(Verdict.applied('r', 'c')), { reason: 'r', code: 'c' })
    const said = { failureClass: 'verdict', reason: 'r', attempts: 2 }
    const waits = { key: 'k', version: 3n, withinMs: 5 }
    is(verdict(Verdict.wait('r', waits)), {
      ...said,
      outcome: 'waiting',
      status: 'waiting',
      code: 'wait',
      waits,
    })
    is(verdict(Verdict.quarantine('r', 'c', { blocksKey: true })), {
      ...said,
      outcome: 'quarantined',
      status: 'quarantined',
      code: 'c',
      blocksKey: true,
    })
    is(verdict(Verdict.park('r', 'c')), { ...said, outcome: 'parked', status: 'parked', code: 'c' })
    const rejected = { rejected: 'dead-lettered' } as const
    is(
      verdict(Verdict.reject('r', 'c')),
      { ...said, outcome: 'dead-lettered', status: 'dead', code: 'c' },
      rejected,
    )
    is(
      verdict(Verdict.reject('r', 'c')),
      { ...said, outcome: 'parked', status: 'parked', code: 'c' },
      { rejected: 'parked' },
    )
    is(verdict(Verdict.retryAfter(7, 'r')), { ...said, outcome: 'retry', code: 'retry', retryDelayMs: 7 })
    const spent = {
      ...said,
      failureClass: 'retry',
      attempts: 3,
      code: 'retry',
      exhausted: 'retry',
      reason: 'attempts exhausted: r',
    }
    is(verdict(Verdict.retryAfter(7, 'r')), { ...spent, outcome: 'parked', status: 'parked' }, {}, 3)
    const stops = { ...said, attempts: 3, code: 'retry', outcome: 'retry', retryDelayMs: 7 } as const
    is(verdict(Verdict.retryAfter(7, 'r')), stops, { exhausted: 'stop' }, 3)
  })

  test('of a failure', () => {
    const again = {
      ...failed,
      failureClass: 'transient',
      outcome: 'retry',
      reason: 'Error: e',
      retryDelayMs: 200,
    } as const
    is(failure('transient'), again)
    is(failure('transient'), { ...again, outcome: 'deferred', status: 'stored' }, { mode: 'defer' })
    is(
      failure('transient'),
      { ...again, outcome: 'rerouted', retryDelayMs: 900 },
      {
        mode: 'retry topic',
        retryLevelsMs: [100, 900],
      },
    )
    is(failure('transient'), again, { mode: 'retry topic', retryLevelsMs: [100] })
    is(failure('transient'), { ...again, attempts: 9, retryDelayMs: 1_000 }, { exhausted: 'stop' }, 9)
  })

  test('of a failure that halts, by class and code together', () => {
    const outcome = (fact: Fact) => decideOutcome(fact, noAttempts, policy).outcome
    for (const code of haltingCodes) {
      assert.equal(outcome(failure('configuration', code)), 'halted')
      assert.equal(outcome(failure('transient', code)), 'retry')
    }
  })

  test('of a failure with attempts of a class that no longer exists', () => {
    const attempt = { ...noAttempts, total: 2, byClass: { former: 1, transient: 1 } }
    assert.equal(decideOutcome(failure('transient'), attempt, policy).retryDelayMs, 200)
  })

  test('of a failure that ends the message', () => {
    const rules = (changes: object) => ({
      rules: { ...policy.rules, transient: { ...policy.rules.transient, ...changes } },
    })
    const ended = { ...failed, attempts: 3, failureClass: 'transient', exhausted: 'transient' }
    const parked = { outcome: 'parked', status: 'parked' } as const
    is(failure('transient'), { ...ended, ...parked, reason: 'Error: e' }, rules({ terminal: 'parked' }), 3)
    const ignored = { outcome: 'ignored', status: 'ignored', failureClass: 'transient', code: 'E' } as const
    const because = 'transient, which the contract takes for a success: Error: e'
    is(failure('transient'), { ...ignored, reason: because }, rules({ terminal: 'ignored' }), 3)
    const same = { ...noAttempts, total: 2, same: 2, byClass: { transient: 2 } }
    const policyOf = (terminal: string) => ({ ...policy, ...rules({ terminal, sameMax: 2 }) })
    for (const terminal of ['parked', 'halted'])
      assert.deepEqual(decideOutcome(failure('transient'), same, policyOf(terminal)), {
        ...plain,
        ...failed,
        ...parked,
        failureClass: 'poison',
        reason: 'failed 2 times in the same way: Error: e',
      })
  })

  test('of a failure while its dependency is unavailable or its type paused', () => {
    const decide = (changes: object, more: Partial<typeof policy> = {}) =>
      decideOutcome(failure('transient'), { ...noAttempts, total: 2, ...changes }, { ...policy, ...more })
    const retry = { ...plain, ...failed, failureClass: 'transient', outcome: 'retry' as const }
    assert.deepEqual(decide({ outageMs: 9 }), {
      ...retry,
      reason: 'a dependency is unavailable: Error: e',
      outage: true,
      retryDelayMs: 9,
    })
    const { transient } = policy.rules
    const others = { rules: { ...policy.rules, transient: { ...transient, breaker: false } } }
    assert.equal(decide({ outageMs: 9 }, others).outage, false)
    const { failure: plainly } = failure('transient') as Extract<Fact, { kind: 'failed' }>
    const wide = { kind: 'failed', failure: { ...plainly, databaseWide: 'always' } } as const
    const attempt = { ...noAttempts, outageMs: 9 }
    assert.equal(decideOutcome(wide, attempt, { ...policy, ...others }).outage, true)
    const paused = 'its event type is paused, because most of its messages fail'
    for (const mode of ['block', 'retry topic'] as const)
      assert.deepEqual(decide({ brakedMs: 9 }, { mode, retryLevelsMs: [50] }), {
        ...retry,
        reason: `${paused}: Error: e`,
        braked: true,
        retryDelayMs: 9,
      })
    is({ kind: 'braked', cause: 'x', delayMs: 9 } as Fact, {
      outcome: 'retry',
      reason: `${paused}: x`,
      failureClass: 'brake',
      code: 'braked',
      retryDelayMs: 9,
    })
  })

  test('of a message that the broker delivers again and again', () => {
    const redelivered = { kind: 'redelivered', count: 4 } as const
    const reason = 'the broker delivered it 5 times'
    is(
      { ...redelivered, delayMs: 9 },
      {
        outcome: 'retry',
        reason: `${reason}: it waits`,
        failureClass: 'redelivery',
        code: 'delivery_count',
        retryDelayMs: 9,
      },
    )
    const ends = {
      outcome: 'quarantined',
      status: 'quarantined',
      failureClass: 'poison',
      code: 'delivery_count',
    } as const
    const poison = { ...policy.rules, poison: { ...policy.rules.poison, terminal: 'quarantined' as const } }
    is({ ...redelivered, delayMs: null }, { ...ends, reason, attempts: 2 }, { rules: poison })
    is({ ...redelivered, delayMs: null }, { ...ends, reason, attempts: 1 }, { rules: poison }, 0)
  })

  test('of a message that killed its process', () => {
    const killed = { kind: 'killed', deaths: 3, attempts: 4 } as const
    const reason = 'its process crashed 3 times'
    const details = { reason, error: reason, failureClass: 'poison', code: 'process_died', attempts: 4 }
    is(
      killed,
      { ...details, outcome: 'parked', status: 'parked', exhausted: 'poison' },
      { exhausted: 'parked' },
    )
    is(
      killed,
      { ...details, outcome: 'retry', retryDelayMs: policy.rules.poison.delayMaxMs },
      { exhausted: 'stop' },
    )
  })

  test('of a message behind another one', () => {
    const behind = (leader: 'retry' | 'deferred' | 'parked' | 'gone'): Fact => ({
      kind: 'behind',
      leader,
      delayMs: 9,
    })
    is(behind('parked'), {
      ...order,
      code: 'behind_parked',
      reason: 'an earlier message of its key is parked',
    })
    is(behind('deferred'), {
      outcome: 'deferred',
      status: 'stored',
      failureClass: 'order',
      code: 'behind_deferred',
      reason: 'an earlier message of its key is deferred',
      retryDelayMs: 9,
    })
    is(behind('retry'), { outcome: 'retry', reason: 'waits for an earlier message', retryDelayMs: 9 })
    is(behind('gone'), { outcome: 'retry', reason: 'waits for an earlier message' })
  })

  test('of a message that waits for its business key', () => {
    const held = (as: 'parked' | 'retry' | 'deferred', inTurn: boolean): Fact => ({
      kind: 'key held',
      byId: 'x',
      as,
      delayMs: 9,
      inTurn,
    })
    const waiting = {
      failureClass: 'order',
      code: 'behind_business_key',
      reason: 'waits for its business key, which message x holds',
    }
    is(held('parked', true), { ...waiting, ...order })
    is(held('deferred', false), {
      ...waiting,
      outcome: 'deferred',
      status: 'stored',
      outOfTurn: true,
      retryDelayMs: 9,
    })
    is(held('retry', true), { ...waiting, outcome: 'retry', retryDelayMs: 9 })
  })
})

describe('whether an attempt is counted', () => {
  const counts = (fact: Fact, outageMs: number | null = null, rules = policy.rules) =>
    countsAsAttempt(fact, { rules }, outageMs)

  test('of verdicts: those that retry without success', () => {
    const counted = (
      ['retryAfter', 'park', 'reject', 'quarantine', 'ignore', 'applied', 'stale', 'duplicate'] as const
    ).filter(kind => counts({ kind: 'verdict', verdict: Verdict[kind]('r' as never) }))
    assert.deepEqual(counted, ['retryAfter', 'park', 'reject', 'quarantine'])
  })

  test('of unreadable bytes once, of redeliveries when they end, of other facts never', () => {
    const problem = { kind: 'undecodable', text: 't' } as const
    assert.equal(counts({ kind: 'unreadable', problem }), true)
    assert.equal(counts({ kind: 'unreadable', problem: { kind: 'registry unavailable', text: 't' } }), false)
    const earlier = { deaths: 1, attempts: 1 }
    assert.equal(counts({ kind: 'unreadable', problem: { ...problem, earlier } as never }), false)
    assert.equal(counts({ kind: 'redelivered', count: 4, delayMs: 9 }), false)
    assert.equal(counts({ kind: 'redelivered', count: 4, delayMs: null }), true)
    assert.equal(counts({ kind: 'handled' }), false)
    assert.equal(counts({ kind: 'behind', leader: 'gone', delayMs: 0 }), false)
  })

  test('of failures, unless they halt, are ignored, or are those of a dependency', () => {
    const rules = (changes: object) => ({
      ...policy.rules,
      transient: { ...policy.rules.transient, breaker: true, attemptsMax: 1, ...changes },
    })
    assert.equal(counts(failure('transient'), null, rules({ terminal: 'parked' })), true)
    for (const terminal of ['halted', 'ignored']) {
      assert.equal(counts(failure('transient'), null, rules({ terminal })), false)
      assert.equal(counts(failure('transient'), null, rules({ terminal, attemptsMax: 2 })), true)
    }
    assert.equal(counts(failure('transient'), 9, rules({ terminal: 'parked' })), false)
    assert.equal(counts(failure('transient'), 9, rules({ terminal: 'parked', breaker: false })), true)
    const { failure: plainly } = failure('transient') as Extract<Fact, { kind: 'failed' }>
    const wide = { kind: 'failed', failure: { ...plainly, databaseWide: 'always' } } as const
    assert.equal(counts(wide, 9, rules({ terminal: 'parked', breaker: false })), false)
  })
})

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { MarkerStatus } from '../../src/contracts/store.ts'
import { countsAsAttempt, decideOutcome } from '../../src/engine/decide-outcome.ts'
import type { Fact, Failure, Outcome } from '../../src/engine/outcome.ts'
import { ignore, park, reject, retryAfter, Verdict } from '../../src/engine/verdicts.ts'
import type { ProblemKind } from '../../src/message/received.ts'

const policy = { attemptsMax: 3, delayMs: 100, delayMaxMs: 1_000, exhausted: 'set aside' } as const

interface Row {
  readonly when: string
  readonly fact: Fact
  readonly attempts?: number
  readonly outcome: Outcome
  readonly status?: MarkerStatus | null
  readonly code?: string
  readonly delayMs?: number
}

const failed = (kind: Failure['class']): Fact => ({
  kind: 'failed',
  failure: { class: kind, code: 'E', error: 'Error: e' },
})
const seen = (status: MarkerStatus, sameDigest = true): Fact => ({ kind: 'seen', status, sameDigest })
const verdict = (given: ReturnType<typeof park>): Fact => ({ kind: 'verdict', verdict: given })
const problems: readonly ProblemKind[] = [
  'over limit',
  'undecodable',
  'id missing',
  'id malformed',
  'business key missing',
  'business key malformed',
  'order key missing',
  'order key malformed',
]

const rows: readonly Row[] = [
  { when: 'the handler succeeded', fact: { kind: 'handled' }, outcome: 'applied', status: null },

  ...problems.map(
    (kind): Row => ({
      when: `reading said: ${kind}`,
      fact: { kind: 'unreadable', problem: { kind, text: 'why' } },
      outcome: 'quarantined',
      status: 'quarantined',
      code: kind.replaceAll(' ', '_'),
    }),
  ),
  {
    when: 'the schema refused it',
    fact: { kind: 'unreadable', problem: { kind: 'invalid', text: 'why' } },
    outcome: 'dead-lettered',
    status: 'dead',
    code: 'invalid',
  },

  ...(['applied', 'ignored', 'duplicate', 'stale', 'dead', 'quarantined'] as const).map(
    (status): Row => ({
      when: `the same was ${status} before`,
      fact: seen(status),
      outcome: 'duplicate',
      status: null,
    }),
  ),
  { when: 'the same is parked here', fact: seen('parked'), outcome: 'already held', status: null },
  ...(['applied', 'parked', 'dead', 'quarantined'] as const).map(
    (status): Row => ({
      when: `the id was ${status} with other content`,
      fact: seen(status, false),
      outcome: 'quarantined',
      status: 'quarantined',
      code: 'conflict',
    }),
  ),
  {
    when: 'another message took the business key',
    fact: { kind: 'business seen', byId: 'x', sameDigest: true },
    outcome: 'duplicate',
    status: 'duplicate',
  },
  {
    when: 'another took the business key with other content',
    fact: { kind: 'business seen', byId: 'x', sameDigest: false },
    outcome: 'quarantined',
    status: 'quarantined',
    code: 'conflict',
  },

  { when: 'the handler ignores it', fact: verdict(ignore('r')), outcome: 'ignored', status: 'ignored' },
  {
    when: 'the handler parks it',
    fact: verdict(park('r')),
    outcome: 'parked',
    status: 'parked',
    code: 'park',
  },
  {
    when: 'the handler rejects it',
    fact: verdict(reject('r')),
    outcome: 'dead-lettered',
    status: 'dead',
    code: 'reject',
  },
  {
    when: 'the handler wants it later',
    fact: verdict(retryAfter(70)),
    attempts: 2,
    outcome: 'retry',
    status: null,
    delayMs: 70,
  },
  {
    when: 'an effect knows its fact under another id',
    fact: verdict(Verdict.duplicate('r', 'duplicate_fact')),
    outcome: 'duplicate',
    status: 'duplicate',
    code: 'duplicate_fact',
  },
  {
    when: 'an effect waits for something that never comes',
    fact: verdict(Verdict.retryAfter(70, 'r', 'missing_aggregate')),
    attempts: 3,
    outcome: 'parked',
    status: 'parked',
    code: 'missing_aggregate',
  },
  {
    when: 'the handler wants it later once too often',
    fact: verdict(retryAfter(70)),
    attempts: 3,
    outcome: 'parked',
    status: 'parked',
    code: 'retry',
  },

  ...(['transient', 'overload', 'rate limited', 'unclassified'] as const).flatMap((kind): Row[] => [
    {
      when: `${kind}, attempts left`,
      fact: failed(kind),
      attempts: 1,
      outcome: 'retry',
      status: null,
      delayMs: 50,
    },
    {
      when: `${kind}, attempts exhausted`,
      fact: failed(kind),
      attempts: 3,
      outcome: 'parked',
      status: 'parked',
      code: 'E',
    },
  ]),
  ...(['business conflict', 'poison'] as const).map(
    (kind): Row => ({
      when: kind,
      fact: failed(kind),
      attempts: 1,
      outcome: 'parked',
      status: 'parked',
      code: 'E',
    }),
  ),
  { when: 'validation', fact: failed('validation'), outcome: 'dead-lettered', status: 'dead', code: 'E' },
  {
    when: 'corruption',
    fact: failed('corruption'),
    outcome: 'quarantined',
    status: 'quarantined',
    code: 'E',
  },
  { when: 'configuration', fact: failed('configuration'), outcome: 'halted', status: null, code: 'E' },

  {
    when: 'an earlier one of its lane is retried',
    fact: { kind: 'behind', leader: 'retry', delayMs: 40 },
    outcome: 'retry',
    status: null,
    delayMs: 40,
  },
  {
    when: 'an earlier one of its key is parked',
    fact: { kind: 'behind', leader: 'parked', delayMs: 0 },
    outcome: 'parked',
    status: 'parked',
    code: 'behind_parked',
  },
  {
    when: 'an earlier one of its lane is gone',
    fact: { kind: 'behind', leader: 'gone', delayMs: 40 },
    outcome: 'retry',
    status: null,
    delayMs: 0,
  },
]

describe('the one decision for a delivery', () => {
  for (const { when, fact, attempts = 0, outcome, status, code, delayMs = 0 } of rows) {
    test(`${when}: ${outcome}`, () => {
      const decision = decideOutcome(fact, { attempts, random: 0.5 }, policy)
      assert.equal(decision.outcome, outcome)
      assert.equal(decision.status, status ?? null)
      assert.equal(decision.retryDelayMs, delayMs)
      if (code !== undefined) assert.equal(decision.code, code)
    })
  }

  test('every outcome that stores something says why', () => {
    for (const { fact, attempts = 0 } of rows) {
      const { status, reason } = decideOutcome(fact, { attempts, random: 0 }, policy)
      if (status !== null) assert.notEqual(reason, '')
    }
  })

  test('only failures that may be retried, and retry verdicts, count as attempts', () => {
    const counting = rows.filter(({ fact }) => countsAsAttempt(fact)).map(({ when }) => when)
    assert.deepEqual(counting, [
      'the handler wants it later',
      'an effect waits for something that never comes',
      'the handler wants it later once too often',
      ...['transient', 'overload', 'rate limited', 'unclassified'].flatMap(kind => [
        `${kind}, attempts left`,
        `${kind}, attempts exhausted`,
      ]),
      'business conflict',
      'poison',
    ])
  })
})

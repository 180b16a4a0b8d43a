import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ConsumerContract } from 'onceward'
import { type FailureRules, failureRules } from '../../src/contract/failure-rules.ts'
import { type AttemptFacts, countsAsAttempt, decideOutcome } from '../../src/engine/batch/decide-outcome.ts'
import type { Fact, Failure, Outcome } from '../../src/engine/batch/outcome.ts'
import { ignore, park, reject, retryAfter, Verdict } from '../../src/engine/batch/verdicts.ts'
import type { ProblemKind } from '../../src/message/received.ts'
import type { MarkerStatus } from '../../src/ports/markers.ts'

type Changes = Partial<Pick<ConsumerContract, 'failure' | 'risk' | 'order'>>

/** The rules a contract makes of its failure section. */
function policyOf({ failure, ...changes }: Changes = {}): FailureRules {
  const base = { attemptsMax: 3, delayMs: 100, delayMaxMs: 1_000 }
  return failureRules({
    owner: 'o',
    risk: 'low value',
    ...changes,
    failure: { ...base, ...failure },
  } as ConsumerContract)
}
const policy = policyOf()

const tried = (total: number, changes: Partial<AttemptFacts> = {}): AttemptFacts => ({
  total,
  byClass: { transient: total },
  same: 1,
  random: 0.5,
  outageMs: null,
  brakedMs: null,
  ...changes,
})

interface Row {
  readonly when: string
  readonly fact: Fact
  readonly attempts?: number
  readonly outcome: Outcome
  readonly status?: MarkerStatus | null
  readonly code?: string
  readonly delayMs?: number
}

const failed = (kind: Failure['class'], code = 'E'): Fact => ({
  kind: 'failed',
  failure: { class: kind, code, error: 'Error: e', place: 'p' },
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
  ...(
    [
      ['parked', 'parked'],
      ['deferred', 'stored'],
      ['retry', null],
    ] as const
  ).map(
    ([as, status]): Row => ({
      when: `another message holds the business key and is not done (${as})`,
      fact: { kind: 'key held', byId: 'x', as, delayMs: 5, inTurn: true },
      outcome: as,
      status,
      code: 'behind_business_key',
      delayMs: as === 'parked' ? 0 : 5,
    }),
  ),

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
  { when: 'configuration', fact: failed('configuration'), outcome: 'retry', code: 'E', delayMs: 50 },
  {
    when: 'an undeclared target',
    fact: failed('configuration', 'effect_unknown_target'),
    outcome: 'halted',
    status: null,
    code: 'effect_unknown_target',
  },

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
      const decision = decideOutcome(fact, tried(attempts), policy)
      assert.equal(decision.outcome, outcome)
      assert.equal(decision.status, status ?? null)
      assert.equal(decision.retryDelayMs, delayMs)
      if (code !== undefined) assert.equal(decision.code, code)
    })
  }

  test('every outcome that stores something has a reason', () => {
    for (const { fact, attempts = 0 } of rows) {
      const { status, reason } = decideOutcome(fact, tried(attempts), policy)
      if (status !== null) assert.notEqual(reason, '')
    }
  })

  test('an attempt is counted for every message whose reading or handling failed, and for no other', () => {
    const ended: readonly Outcome[] = ['retry', 'parked', 'dead-lettered', 'quarantined']
    for (const { when, fact, outcome } of rows) {
      const tried = fact.kind === 'failed' || fact.kind === 'verdict' || fact.kind === 'unreadable'
      assert.equal(countsAsAttempt(fact, policy), tried && ended.includes(outcome), when)
    }
  })
})

interface PolicyRow {
  readonly says: string
  readonly contract: Changes
  readonly fact: Fact
  readonly attempt: Partial<AttemptFacts>
  readonly outcome: Outcome
  readonly delayMs?: number
  readonly failureClass?: string
  readonly exhausted?: string | null
}

const patient = { attemptsMax: 5, delayMs: 1_000, delayMaxMs: 60_000 }

const policies: readonly PolicyRow[] = [
  ...[1, 2, 3, 4].map(
    (attempts): PolicyRow => ({
      says: `attempt ${attempts} is tried again with full jitter`,
      contract: { failure: patient },
      fact: failed('transient'),
      attempt: { byClass: { transient: attempts } },
      outcome: 'retry',
      delayMs: 500 * 2 ** (attempts - 1),
    }),
  ),
  {
    says: 'the fifth of five attempts is the last',
    contract: { failure: patient },
    fact: failed('transient'),
    attempt: { byClass: { transient: 5 } },
    outcome: 'parked',
  },
  {
    says: 'the delay is capped',
    contract: { failure: { ...patient, attemptsMax: 20, jitter: false } },
    fact: failed('transient'),
    attempt: { byClass: { transient: 12 } },
    outcome: 'retry',
    delayMs: 60_000,
  },
  {
    says: 'without jitter the delay is exact',
    contract: { failure: { ...patient, jitter: false } },
    fact: failed('overload'),
    attempt: { byClass: { overload: 2 } },
    outcome: 'retry',
    delayMs: 2_000,
  },
  {
    says: 'classes without a budget of their own share one',
    contract: {},
    fact: failed('overload'),
    attempt: { byClass: { overload: 1, transient: 1, verdict: 1 } },
    outcome: 'parked',
  },
  {
    says: 'a class with a budget of its own draws on nobody else’s',
    contract: { failure: { policies: { overload: { attemptsMax: 4 } } } },
    fact: failed('overload'),
    attempt: { byClass: { overload: 3, transient: 2 } },
    outcome: 'retry',
    delayMs: 200,
  },
  {
    says: 'nor do others draw on its',
    contract: { failure: { policies: { overload: { attemptsMax: 9 } } } },
    fact: failed('transient'),
    attempt: { byClass: { overload: 8, transient: 2 } },
    outcome: 'retry',
    delayMs: 100,
  },
  {
    says: 'contention draws on nobody’s business attempts',
    contract: {},
    fact: failed('transient'),
    attempt: { byClass: { contention: 2, transient: 2 } },
    outcome: 'retry',
    delayMs: 100,
  },
  {
    says: 'contention is bounded all the same',
    contract: {},
    fact: failed('contention'),
    attempt: { byClass: { contention: 3 } },
    outcome: 'parked',
  },
  {
    says: 'a class has its own delays',
    contract: { failure: { policies: { 'rate limited': { delayMs: 8_000, delayMaxMs: 30_000 } } } },
    fact: failed('rate limited'),
    attempt: { byClass: { 'rate limited': 2 } },
    outcome: 'retry',
    delayMs: 8_000,
  },
  {
    says: 'a conflict may be tried again where the contract says so',
    contract: { failure: { policies: { 'business conflict': { attemptsMax: 2 } } } },
    fact: failed('business conflict'),
    attempt: { byClass: { 'business conflict': 1 } },
    outcome: 'retry',
    delayMs: 50,
  },
  ...(['parked', 'dead-lettered', 'quarantined', 'halted'] as const).map(
    (terminal): PolicyRow => ({
      says: `a class ends ${terminal} where the contract says so`,
      contract: { failure: { policies: { overload: { terminal } } } },
      fact: failed('overload'),
      attempt: { byClass: { overload: 3 } },
      outcome: terminal,
    }),
  ),
  {
    says: 'a refused login halts at the first one where the contract says so',
    contract: { failure: { policies: { configuration: { terminal: 'halted' } } } },
    fact: failed('configuration'),
    attempt: { byClass: {}, outageMs: 700 },
    outcome: 'halted',
  },
  {
    says: 'a refused login is kept during an outage',
    contract: {},
    fact: failed('configuration'),
    attempt: { byClass: {}, outageMs: 700 },
    outcome: 'retry',
    delayMs: 700,
  },
  {
    says: 'a class that halts is tried first where it has attempts',
    contract: { failure: { policies: { configuration: { attemptsMax: 2, terminal: 'halted' } } } },
    fact: failed('configuration'),
    attempt: { byClass: { configuration: 1 } },
    outcome: 'retry',
    delayMs: 50,
  },
  {
    says: 'the same failure again and again is poison before the attempts are used up',
    contract: { failure: { attemptsMax: 10, poison: { maxAttemptsBeforePark: 3 } } },
    fact: failed('transient'),
    attempt: { byClass: { transient: 3 }, same: 3 },
    outcome: 'parked',
    failureClass: 'poison',
  },
  {
    says: 'other failures in between are not the same one',
    contract: { failure: { attemptsMax: 10, poison: { maxAttemptsBeforePark: 3 } } },
    fact: failed('transient'),
    attempt: { byClass: { transient: 5 }, same: 2 },
    outcome: 'retry',
    delayMs: 500,
  },
  {
    says: 'poison halts nothing',
    contract: {
      failure: {
        policies: { configuration: { attemptsMax: 9, terminal: 'halted' } },
        poison: { maxAttemptsBeforePark: 2 },
      },
    },
    fact: failed('configuration'),
    attempt: { byClass: { configuration: 2 }, same: 2 },
    outcome: 'parked',
    failureClass: 'poison',
  },
  {
    says: 'an outage is nobody’s attempt',
    contract: {},
    fact: failed('overload'),
    attempt: { byClass: {}, outageMs: 700 },
    outcome: 'retry',
    delayMs: 700,
  },
  {
    says: 'what says nothing about the downstream fails as ever during an outage',
    contract: {},
    fact: failed('validation'),
    attempt: { byClass: {}, outageMs: 700 },
    outcome: 'dead-lettered',
  },
  {
    says: 'a class that is kept from the breaker fails as ever during an outage',
    contract: { failure: { policies: { overload: { breaker: false } } } },
    fact: failed('overload'),
    attempt: { byClass: { overload: 1 }, outageMs: 700 },
    outcome: 'retry',
    delayMs: 50,
  },
  {
    says: 'an outage is not deferred: the backlog stays with the broker',
    contract: { failure: { mode: 'defer' } },
    fact: failed('overload'),
    attempt: { byClass: {}, outageMs: 700 },
    outcome: 'retry',
    delayMs: 700,
  },
  {
    says: 'what is to be tried again is deferred where the contract says so',
    contract: { failure: { mode: 'defer' } },
    fact: failed('unclassified'),
    attempt: { byClass: { unclassified: 1 } },
    outcome: 'deferred',
    delayMs: 50,
  },
  {
    says: 'what fails in the same way at every attempt is poison by default, and its attempts ran out',
    contract: {},
    fact: failed('unclassified'),
    attempt: { byClass: { unclassified: 3 }, same: 3 },
    outcome: 'parked',
    failureClass: 'poison',
    exhausted: 'unclassified',
  },
  {
    says: 'the same outage again and again is not poison',
    contract: {},
    fact: failed('transient'),
    attempt: { byClass: { transient: 3 }, same: 3 },
    outcome: 'parked',
    failureClass: 'transient',
    exhausted: 'transient',
  },
  {
    says: 'a budget of one runs out at the first failure, which is no repetition',
    contract: { failure: { attemptsMax: 1 } },
    fact: failed('unclassified'),
    attempt: { byClass: { unclassified: 1 } },
    outcome: 'parked',
    failureClass: 'unclassified',
    exhausted: 'unclassified',
  },
  {
    says: 'a class that is not retried has no budget',
    contract: {},
    fact: failed('business conflict'),
    attempt: { byClass: { 'business conflict': 1 } },
    outcome: 'parked',
    exhausted: null,
  },
  {
    says: 'poison with attempts left did not run out of them',
    contract: { failure: { attemptsMax: 10, poison: { maxAttemptsBeforePark: 3 } } },
    fact: failed('transient'),
    attempt: { byClass: { transient: 3 }, same: 3 },
    outcome: 'parked',
    failureClass: 'poison',
    exhausted: null,
  },
  {
    says: 'a verdict that asks for a retry too often runs out of attempts',
    contract: {},
    fact: verdict(retryAfter(70)),
    attempt: { byClass: { verdict: 3 } },
    outcome: 'parked',
    failureClass: 'retry',
    exhausted: 'retry',
  },
  ...[
    failed('unclassified'),
    verdict(retryAfter(70)),
    { kind: 'killed', attempts: 3, deaths: 1 } as const,
  ].map(
    (fact): PolicyRow => ({
      says: `without attempts left it is dead-lettered where the contract says so (${fact.kind})`,
      contract: { failure: { exhausted: 'dead-lettered' } },
      fact,
      attempt: { byClass: { unclassified: 3, verdict: 3 }, same: 3 },
      outcome: 'dead-lettered',
    }),
  ),
  {
    says: 'what is not retried stays parked then',
    contract: { failure: { exhausted: 'dead-lettered' } },
    fact: failed('business conflict'),
    attempt: { byClass: { 'business conflict': 1 } },
    outcome: 'parked',
  },
  {
    says: 'a business conflict is a success where the contract says so',
    contract: { failure: { policies: { 'business conflict': { terminal: 'ignored' } } } },
    fact: failed('business conflict'),
    attempt: {},
    outcome: 'ignored',
    failureClass: 'business conflict',
    exhausted: null,
  },
  {
    says: 'a lane that stops goes on past it',
    contract: {
      order: 'key',
      failure: { exhausted: 'stop', policies: { 'business conflict': { terminal: 'ignored' } } },
    },
    fact: failed('business conflict'),
    attempt: {},
    outcome: 'ignored',
  },
  {
    says: 'a verdict is deferred for as long as it says',
    contract: { failure: { mode: 'defer' } },
    fact: verdict(retryAfter(70)),
    attempt: { byClass: { verdict: 1 } },
    outcome: 'deferred',
    delayMs: 70,
  },
  {
    says: 'what comes after a deferred one is deferred with it',
    contract: { failure: { mode: 'defer' } },
    fact: { kind: 'behind', leader: 'deferred', delayMs: 40 },
    attempt: {},
    outcome: 'deferred',
    delayMs: 40,
    failureClass: 'order',
  },
  {
    says: 'a lane that stops never ends',
    contract: { order: 'key', failure: { exhausted: 'stop' } },
    fact: failed('business conflict'),
    attempt: { byClass: { 'business conflict': 900 } },
    outcome: 'retry',
    delayMs: 500,
  },
  {
    says: 'money in order waits behind what would be dead-lettered',
    contract: { risk: 'money', order: 'key' },
    fact: verdict(reject('no')),
    attempt: {},
    outcome: 'parked',
  },
  {
    says: 'unless somebody accepts that it goes on',
    contract: {
      risk: 'money',
      order: 'key',
      failure: { deadLetter: { passingAcceptedBy: 'head of settlement' } },
    },
    fact: verdict(reject('no')),
    attempt: {},
    outcome: 'dead-lettered',
  },
  {
    says: 'nothing is dead-lettered where a person must look',
    contract: { failure: { deadLetter: { manualReviewRequired: true } } },
    fact: failed('validation'),
    attempt: {},
    outcome: 'parked',
  },
  ...(['unknown type', 'unsupported version'] as const).map(
    (kind): PolicyRow => ({
      says: `${kind}: set aside for a consumer that knows it`,
      contract: {},
      fact: { kind: 'unreadable', problem: { kind, text: 'why' } },
      attempt: {},
      outcome: 'parked',
      failureClass: 'poison',
    }),
  ),
  {
    says: 'what cannot be read ends where poison ends, if the contract says where',
    contract: { failure: { policies: { poison: { terminal: 'dead-lettered' } } } },
    fact: { kind: 'unreadable', problem: { kind: 'undecodable', text: 'why' } },
    attempt: {},
    outcome: 'dead-lettered',
  },
]

describe('class, attempt and policy make one outcome', () => {
  for (const { says, contract, fact, attempt, outcome, delayMs = 0, failureClass, exhausted } of policies) {
    test(`${says}: ${outcome}`, () => {
      const decision = decideOutcome(fact, tried(1, attempt), policyOf(contract))
      assert.equal(decision.outcome, outcome)
      assert.equal(decision.retryDelayMs, delayMs)
      if (failureClass !== undefined) assert.equal(decision.failureClass, failureClass)
      if (exhausted !== undefined) assert.equal(decision.exhausted, exhausted)
    })
  }

  test('an attempt of an outage is not counted, others are', () => {
    assert.equal(countsAsAttempt(failed('overload'), policy, 700), false)
    assert.equal(countsAsAttempt(failed('unclassified'), policy, 700), true)
    assert.equal(countsAsAttempt(failed('overload'), policy, null), true)
  })

  test('a retry queue takes the shortest level that is long enough; beyond the longest a message is held', () => {
    const levels = policyOf({ failure: { mode: 'retry queue' } })
    const after = (delayMs: number) => decideOutcome(verdict(retryAfter(delayMs)), tried(1), levels)
    const outcomes = [0, 100, 101, 900, 1_001].map(after)
    assert.deepEqual(
      outcomes.map(({ outcome, retryDelayMs }) => [outcome, retryDelayMs]),
      [
        ['rerouted', 100],
        ['rerouted', 100],
        ['rerouted', 200],
        ['rerouted', 1_000],
        ['retry', 1_001],
      ],
    )
    assert.equal(outcomes[0]!.status, null)
    const away = decideOutcome(failed('transient'), tried(1, { outageMs: 50 }), levels)
    assert.equal(away.outcome, 'retry', 'an outage holds messages where they are')
  })
})

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type ConsumerContract, defineConsumer, type FailureSection } from 'onceward'

const base: ConsumerContract = {
  name: 'notes',
  owner: 'team',
  risk: 'low value',
  source: { kind: 'memory' },
  identity: { id: { property: 'messageId' } },
  handle: () => {},
}
const rulesOf = (failure: FailureSection, changes: Partial<ConsumerContract> = {}) =>
  defineConsumer({ ...base, ...changes, failure }).failure

const queued = { source: { kind: 'rabbitmq', queue: 'q' } as never }

describe('the failure section', () => {
  test('the production template can be declared', () => {
    const rules = rulesOf({
      attemptsMax: 5,
      deadLetter: { to: 'case-events.search-indexer.dlq', owner: 'search-team', manualReviewRequired: true },
      poison: { maxAttemptsBeforePark: 5 },
    })
    assert.equal(rules.deadLetter, 'case-events.search-indexer.dlq')
    assert.equal(rules.deadLetterOwner, 'search-team')
    assert.equal(rules.rejected, 'parked')
    assert.equal(rules.rules.transient.sameMax, 5)
  })

  test('a class has its own rules, and others keep theirs', () => {
    const { rules } = rulesOf({
      attemptsMax: 4,
      policies: { overload: { attemptsMax: 9, delayMs: 5_000, terminal: 'dead-lettered', breaker: false } },
    })
    assert.deepEqual(rules.overload, {
      attemptsMax: 9,
      retried: true,
      sameMax: 9,
      ownBudget: true,
      delayMs: 5_000,
      delayMaxMs: 60_000,
      terminal: 'dead-lettered',
      breaker: false,
    })
    assert.equal(rules.transient.attemptsMax, 4)
    const { attemptsMax, terminal, breaker } = rules.configuration
    assert.deepEqual([attemptsMax, terminal, breaker], [4, 'parked', true])
  })

  test('a consumer that halts for a refused login does so at the first one', () => {
    const { attemptsMax, breaker } = rulesOf({ policies: { configuration: { terminal: 'halted' } } }).rules
      .configuration
    assert.deepEqual([attemptsMax, breaker], [1, false])
  })

  test('jitter may be switched off by itself', () => {
    assert.equal(rulesOf({ jitter: false }).jitter, false)
  })

  test('a retry queue has a level for every delay the policy can produce', () => {
    const { retryLevelsMs } = rulesOf(
      {
        mode: 'retry queue',
        delayMaxMs: 10_000,
        policies: { overload: { delayMs: 3_000 }, validation: { delayMs: 7 } },
      },
      queued,
    )
    assert.deepEqual(retryLevelsMs, [1_000, 2_000, 3_000, 4_000, 6_000, 8_000, 10_000])
    assert.deepEqual(rulesOf({}).retryLevelsMs, [])
  })

  const money = { risk: 'money', order: 'partition' } as const
  const refused: readonly [FailureSection, RegExp, Partial<ConsumerContract>?][] = [
    [{ retry: { maxAttempts: 5 } } as never, /retry: is not a known key/],
    [{ jitter: 'full' as never }, /failure\.jitter: must be true or false/],
    [{ policies: { overlaod: {} } as never }, /failure\.policies\.overlaod: must be one of/],
    [{ policies: { overload: { terminal: 'gone' as never } } }, /terminal: must be one of 'parked'/],
    [{ breaker: { failuresMax: 1 } }, /failuresMax: must be a whole number from 2/],
    [{ breaker: true as never }, /must be an object, or false/],
    [{ deadLetter: { passingAcceptedBy: ' ' } }, /must name who accepts it/],
    [{ poison: { maxAttemptsBeforePark: 0 } }, /whole number from 1/],
    [{ mode: 'retry topic' }, /topics of Kafka, and this source is another kind/, queued],
    [
      { mode: 'retry topic' },
      /identity\.id 'position' would make it another message/,
      { source: { kind: 'kafka', topic: 't' } as never, identity: { id: 'position' } },
    ],
    [
      { mode: 'retry queue' },
      /queues of RabbitMQ, and this source is another kind/,
      { source: { kind: 'kafka' } },
    ],
    [{ mode: 'retry queue' }, /order 'key' forbids/, { ...queued, order: 'key' }],
    [{ mode: 'retry queue' }, /needs dedup 'marker'/, { ...queued, dedup: 'version' }],
    [
      { mode: 'retry queue' },
      /inbox\.mode 'stored' removes them there/,
      { ...queued, inbox: { mode: 'stored' } },
    ],
    [{ mode: 'retry queue', delayMs: 0 }, /delayMs: must be at least 1/, queued],
    [
      { mode: 'retry queue' },
      /too long for queues of RabbitMQ/,
      { source: { kind: 'rabbitmq', queue: 'q'.repeat(250) } as never },
    ],
    [
      { mode: 'retry queue' },
      /digestHeaders: lists x-death, which changes with every retry/,
      { ...queued, message: { digestHeaders: ['x-death'] } },
    ],
    [
      { mode: 'retry queue' },
      /identity\.id: reads x-delivery-count/,
      { ...queued, identity: { id: { header: 'x-delivery-count' } } },
    ],
    [{ mode: 'defer' }, /order 'partition' forbids/, { order: 'partition' }],
    [{ mode: 'defer' }, /needs dedup 'marker'/, { dedup: 'checkpoint', order: 'partition' }],
    [
      { mode: 'defer' },
      /'defer' keeps messages that settle\.when 'before effect' gives up/,
      { settle: { when: 'before effect', lossAcceptable: 'telemetry' } },
    ],
    [{}, /passingAcceptedBy: must name who accepts/, money],
  ]
  for (const [failure, expected, changes = {}] of refused) {
    test(`refuses ${JSON.stringify(failure)} ${JSON.stringify(changes)}`, () => {
      assert.throws(() => rulesOf(failure, changes), expected)
    })
  }

  test('money in partitions continues past a dead letter only if a named person accepts it, or stops', () => {
    assert.throws(() => defineConsumer({ ...base, ...money }), /passingAcceptedBy/)
    rulesOf({ deadLetter: { passingAcceptedBy: 'head of settlement' } }, money)
    rulesOf({ exhausted: 'stop' }, money)
  })

  test('refuses versions it could not read, and a range with its ends swapped', () => {
    const message = (section: object) => defineConsumer({ ...base, message: section })
    assert.throws(() => message({ versions: [1] }), /needs identity\.schemaVersion/)
    const identity = { ...base.identity, schemaVersion: { header: 'v' } }
    const versioned = (versions: unknown) =>
      defineConsumer({ ...base, identity, message: { versions } as never })
    assert.throws(() => versioned({ min: 3, max: 1 }), /must have min at most max/)
    assert.throws(() => versioned({ min: 3 }), /max: is missing/)
    assert.throws(() => versioned([]), /list of versions/)
    assert.throws(() => message({ types: [] }), /list of names/)
    versioned({ min: 1, max: 3 })
    versioned(['1', 2])
  })
})

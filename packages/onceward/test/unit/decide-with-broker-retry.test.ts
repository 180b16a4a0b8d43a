import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type FailureRules, failureRules } from '../../src/contract/failure-rules.ts'
import { noAttempts } from '../../src/engine/batch/decide-outcome.ts'
import type { Fact, Failure } from '../../src/engine/batch/outcome.ts'
import { park, retryAfter } from '../../src/engine/batch/verdicts.ts'
import type { ConsumerContext } from '../../src/engine/consumer-context.ts'
import { decideWithBrokerRetry } from '../../src/engine/retry/decide-with-broker-retry.ts'
import type { Received } from '../../src/message/received.ts'
import { receivedOf } from './received.ts'

const failure: Failure = { class: 'transient', code: 'ECONNRESET', error: 'cut', place: '' }
const failed: Fact = { kind: 'failed', failure }
const rules = failureRules({ delayMs: 1_000, delayMaxMs: 1_000, attemptsMax: 5 } as never)

interface Scene {
  readonly mode?: FailureRules['mode']
  readonly runs?: string
  readonly stage?: string
  readonly stores?: boolean
  readonly kind?: string
  readonly bytesMax?: number
}

function decide(received: Received, fact: Fact, scene: Scene = {}) {
  const { mode = 'retry topic', runs = 'live', stage = 'inline', stores = true, kind = 'kafka' } = scene
  const context = {
    consumer: {
      source: { kind, topic: 't', queue: 'q' },
      failure: { ...rules, mode, retryLevelsMs: [5_000], jitter: false },
    },
    mode: runs,
    stage,
    store: stores ? { work: {} } : {},
    enrolment: { facts: { topicLimits: { bytesMax: () => scene.bytesMax ?? 1_000_000, doubt: () => {} } } },
  } as unknown as ConsumerContext
  const { outcome, retryDelayMs } = decideWithBrokerRetry(received, fact, noAttempts, context)
  return `${outcome} ${retryDelayMs}`
}

const message = receivedOf('a')
const nameless = { ...receivedOf('a'), id: null } as unknown as Received

describe('where a failed message waits', () => {
  test('at the broker, in the first level that is long enough', () => {
    assert.equal(decide(message, failed), 'rerouted 5000')
    assert.equal(decide(message, failed, { mode: 'retry queue', kind: 'rabbitmq' }), 'rerouted 5000')
    assert.equal(decide(message, { kind: 'verdict', verdict: retryAfter(3_000) }), 'rerouted 5000')
  })

  test('in the process, if the contract does not use the broker', () => {
    assert.equal(decide(message, failed, { mode: 'block' }), 'retry 1000')
    assert.equal(decide(message, failed, { mode: 'defer' }), 'deferred 1000')
  })

  test('where it is, in a campaign and with a worker', () => {
    assert.equal(decide(message, failed, { runs: 'replay' }), 'retry 1000')
    assert.equal(decide(message, failed, { stage: 'work' }), 'retry 1000')
    assert.equal(decide(message, failed, { stage: 'enqueue' }), 'retry 1000')
  })

  test('in the store, if its copy does not fit the level or cannot be recognised', () => {
    assert.equal(decide(message, failed, { bytesMax: 10 }), 'deferred 1000')
    assert.equal(decide(message, failed, { bytesMax: 10, stores: false }), 'retry 1000')
    assert.equal(decide(nameless, failed), 'retry 1000')
  })

  test('nowhere, if it is not tried again', () => {
    assert.equal(decide(message, { kind: 'verdict', verdict: park('look') }, { bytesMax: 10 }), 'parked 0')
    assert.equal(decide(message, { kind: 'handled' }), 'applied 0')
    assert.equal(decide(message, { kind: 'behind', leader: 'retry', delayMs: 7 }), 'retry 7')
    assert.equal(
      decide(message, { kind: 'behind', leader: 'retry', delayMs: 7 }, { mode: 'block' }),
      'retry 7',
    )
  })
})

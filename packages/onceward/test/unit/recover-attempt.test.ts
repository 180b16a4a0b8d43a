import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ConsumerContract } from 'onceward'
import { failureRules } from '../../src/contract/failure-rules.ts'
import { type BatchAttempt, firstRound, newHistory } from '../../src/engine/batch/batch-attempt.ts'
import { RoundFailed } from '../../src/engine/batch/handler-result.ts'
import type { Fact } from '../../src/engine/batch/outcome.ts'
import { recoverAttempt, StorePaused } from '../../src/engine/batch/recover-attempt.ts'
import type { ConsumerContext } from '../../src/engine/consumer-context.ts'
import { DecidedHalt } from '../../src/engine/retry/halt-cause.ts'
import { OncewardError } from '../../src/errors.ts'
import type { Received } from '../../src/message/received.ts'
import type { StoreTrouble } from '../../src/ports/store.ts'
import { receivedOf, unreadableOf } from './received.ts'

const [a, b, c] = ['a', 'b', 'c'].map(id => receivedOf(id)) as [Received, Received, Received]

function scene(trouble: StoreTrouble, isLive = true) {
  const failures: unknown[] = []
  const dropped: unknown[] = []
  const disowned: unknown[] = []
  const delays: number[] = []
  const context = {
    consumer: { name: 'c', failure: failureRules({ owner: 'o', risk: 'low value' } as ConsumerContract) },
    store: { diagnose: () => trouble },
    subscription: {
      isLive: () => isLive,
      leases: { drop: (some: { held: unknown }[]) => dropped.push(...some.map(({ held }) => held)) },
      log: { disown: (lost: string[]) => disowned.push(...lost) },
    },
    env: {
      random: () => 0.5,
      metrics: { add: (_name: string, _count: number, labels: object) => failures.push(labels) },
      timers: {
        after(delayMs: number, work: () => void) {
          delays.push(delayMs)
          work()
        },
      },
    },
  } as unknown as ConsumerContext
  return { context, failures, dropped, disowned, delays }
}

type Changes = Partial<BatchAttempt>
function attemptOf(
  context: ConsumerContext,
  batch: readonly Received[],
  changes: Changes = {},
): BatchAttempt {
  const first = firstRound({ context, suspect: null, history: newHistory(), stuckLanes: null }, batch)
  return { ...first, ...changes }
}
const shown = (attempts: readonly BatchAttempt[]) =>
  attempts.map(({ batch, round }) => `${batch.map(({ id }) => id).join('')} ${round}`)

async function recover(error: unknown, trouble: StoreTrouble, batch = [a, b, c], changes: Changes = {}) {
  const { context, ...seen } = scene(trouble)
  const attempt = attemptOf(context, batch, changes)
  return { attempts: shown(await recoverAttempt(error, attempt)), attempt, ...seen }
}

const handled: Fact = { kind: 'handled' }
const error = Object.assign(new Error('refused'), { code: '23505' })

describe('what runs after a rollback', () => {
  test('without a named cause: both halves, in order, and a single message takes the blame', async () => {
    const { attempts, failures } = await recover(error, 'statement')
    assert.deepEqual(attempts, ['ab 1', 'c 1'])
    assert.deepEqual(failures, [{ consumer: 'c', reason: 'statement' }])
    const alone = await recover(error, 'statement', [a])
    assert.deepEqual(alone.attempts, ['a 2'])
    assert.equal(alone.attempt.known.get(a)?.kind, 'failed')
  })

  test('a message that is not the cause, or cannot be, halts the consumer', async () => {
    for (const [batch, known] of [
      [[a], new Map([[a, handled]])],
      [[unreadableOf('x') as Received], new Map()],
    ] as const)
      await assert.rejects(recover(error, 'statement', [...batch], { known }), (halt: OncewardError) => {
        assert.equal(halt.code, 'consumer_halted')
        assert.match(
          halt.message,
          /^Consumer c halted: the store refused a statement \(23505\): Error: refused\n/,
        )
        assert.match(halt.message, /Nothing was settled and nothing is lost/)
        return halt.cause === error
      })
  })

  test('without the named messages, for eight rounds; then by halves, or alone', async () => {
    const culprits = new Map([[b, handled]])
    const named = new RoundFailed(culprits, error)
    const first = await recover(named, 'statement')
    assert.deepEqual([first.attempts, first.attempt.known.get(b)], [['abc 2'], handled])
    assert.deepEqual((await recover(named, 'statement', [a, b, c], { round: 7 })).attempts, ['abc 8'])
    assert.deepEqual((await recover(named, 'statement', [a, b, c], { round: 8 })).attempts, ['ab 1', 'c 1'])
    assert.deepEqual((await recover(named, 'statement', [b], { round: 8 })).attempts, ['b 9'])
    const unnamed = new RoundFailed(new Map(), error)
    assert.deepEqual((await recover(unnamed, 'statement')).attempts, ['ab 1', 'c 1'])
    await assert.rejects(recover(unnamed, 'statement', [a]), error)
  })

  test('a deadlock: the same again after a random pause, until it has lasted too long', async () => {
    const { attempts, delays, failures } = await recover(error, 'contention', [a, b], { round: 2 })
    assert.deepEqual([attempts, delays], [['ab 3'], [10]])
    assert.deepEqual(failures, [{ consumer: 'c', reason: 'contention' }])
    assert.deepEqual((await recover(error, 'contention', [a], { round: 29 })).delays, [100])
    await assert.rejects(recover(error, 'contention', [a], { round: 30 }), { trouble: 'lock wait' })
  })

  test('an unavailable store: the batch waits, and after five pauses its messages are suspected', async () => {
    for (const trouble of ['unavailable', 'lock wait'] as const) {
      await assert.rejects(recover(error, trouble), (paused: StorePaused) => {
        assert.ok(paused instanceof StorePaused)
        return paused.trouble === trouble && paused.cause === error && paused.message === 'Error: refused'
      })
      const history = { ...newHistory(), pauses: 5 }
      assert.deepEqual((await recover(error, trouble, [a, b], { history })).attempts, ['a 1', 'b 1'])
    }
    const history = { ...newHistory(), pauses: 5 }
    assert.deepEqual((await recover(error, 'contention', [a, b], { history })).attempts, ['a 1', 'b 1'])
  })

  test('wrong rights or a wrong schema halt the consumer', async () => {
    await assert.rejects(recover(error, 'configuration'), (halt: Error) => {
      assert.ok(halt instanceof DecidedHalt)
      return halt.cause === error && /Consumer c halted/.test(halt.message)
    })
  })

  test('a commit that was not confirmed is trouble of the store', async () => {
    for (const code of ['commit_not_confirmed', 'wrong_server'] as const) {
      const unconfirmed = new OncewardError(code, 'x')
      const { context, failures } = scene('unavailable')
      await assert.rejects(recoverAttempt(unconfirmed, attemptOf(context, [a])), StorePaused)
      assert.deepEqual(failures, [{ consumer: 'c', reason: 'not confirmed' }])
    }
  })

  test('blames with the cause of an error of ours', async () => {
    const { context } = scene('statement')
    const attempt = attemptOf(context, [a])
    await recoverAttempt(new OncewardError('commit_not_confirmed', 'x', { cause: error }), attempt)
    const fact = attempt.known.get(a)
    assert.ok(fact?.kind === 'failed' && fact.failure.code === '23505', JSON.stringify(fact))
  })
})

describe('what runs after a fence', () => {
  const at = (id: string, partition: string, row: string | null = null) => {
    const received = receivedOf(id)
    const held = row === null ? undefined : { row, epoch: 1 }
    return { ...received, delivery: { ...received.delivery, partition, held } } as unknown as Received
  }

  test('lost leases leave the batch, and only they', async () => {
    const batch = [at('a', '', '1'), at('b', '', '2')]
    const { context, dropped } = scene('statement')
    const lost = new OncewardError('lease_lost', 'x', { details: { rows: ['2'] } })
    assert.deepEqual(shown(await recoverAttempt(lost, attemptOf(context, batch, { round: 4 }))), ['a 1'])
    assert.deepEqual(dropped, [{ row: '2', epoch: 1 }])
  })

  const fenced = (code: 'ownership_lost' | 'position_moved') =>
    new OncewardError(code, 'x', { details: { partitions: ['p'] } })
  const batch = [at('a', 'p'), at('b', 'q')]

  test('messages of a lost partition leave the batch, and the partition is given up', async () => {
    const { context, disowned } = scene('statement')
    assert.deepEqual(shown(await recoverAttempt(fenced('ownership_lost'), attemptOf(context, batch))), [
      'b 1',
    ])
    assert.deepEqual(disowned, ['p'])
  })

  test('deliveries from before the partition moved explain the fence: it is not given up', async () => {
    const { context, disowned } = scene('statement', false)
    assert.deepEqual(shown(await recoverAttempt(fenced('ownership_lost'), attemptOf(context, batch))), [
      'ab 1',
    ])
    assert.deepEqual(disowned, [])
  })

  test('a moved position means that an earlier attempt may have committed; five times at most', async () => {
    const { context } = scene('statement')
    const attempt = attemptOf(context, batch)
    for (let move = 1; move <= 5; move++) {
      assert.deepEqual(shown(await recoverAttempt(fenced('position_moved'), attempt)), ['ab 1'])
      assert.deepEqual([attempt.history.mayHaveCommitted, attempt.history.moves], [true, move])
    }
    await assert.rejects(recoverAttempt(fenced('position_moved'), attempt), { code: 'position_moved' })
  })

  test('any other error of ours ends the attempt', async () => {
    const { context, failures } = scene('statement')
    const other = new OncewardError('retention_too_short', 'x')
    await assert.rejects(recoverAttempt(other, attemptOf(context, batch)), other)
    assert.deepEqual(failures, [])
  })
})

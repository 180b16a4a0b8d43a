import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { FailureRules } from '../../src/contract/failure-rules.ts'
import type { Decided } from '../../src/engine/batch/batch-attempt.ts'
import type { Decision, Fact, Outcome } from '../../src/engine/batch/outcome.ts'
import { Brakes } from '../../src/engine/retry/brakes.ts'
import type { ReadableMessage } from '../../src/message/received.ts'

const brake = { messagesMin: 20, shareMin: 0.25, pauseMs: 1_000, pauseMaxMs: 4_000 }
const poison = { terminal: 'parked', breaker: false }
const transient = { terminal: 'parked', breaker: true }
const failure = { brake, breaker: {}, rules: { poison, transient } } as unknown as FailureRules

let nowMs = 0
const open = () => new Brakes(failure, { nowMs: () => nowMs })
const message = (id: string, { key = id, type = 'T', attempts = 0 } = {}): ReadableMessage =>
  ({
    id,
    readable: true,
    lane: null,
    orderKey: key,
    envelope: { type },
    delivery: { held: attempts > 0 ? { attempts } : undefined },
  }) as unknown as ReadableMessage
const many = (count: number, prefix = 'm') =>
  Array.from({ length: count }, (_, n) => message(`${prefix}${n}`))
const ended = (outcome: Outcome, failureClass = 'poison', braked = false): Decision =>
  ({
    outcome,
    braked,
    failureClass,
    error: outcome === 'applied' ? null : 'x',
    code: '42703',
    place: 'h:1',
  }) as Decision
const all = (messages: readonly ReadableMessage[], decision: Decision): Decided[] =>
  messages.map(received => ({ received, decision }))
const asMap = (decided: readonly Decided[]) =>
  new Map(decided.map(({ received, decision }) => [received, decision] as const))
const tried = (
  brakes: Brakes,
  fresh: readonly ReadableMessage[],
  facts = new Map<never, Fact>(),
  mayRun = fresh,
) => {
  brakes.holdBack(fresh, facts as never, () => new Set(mayRun))
  return fresh.filter(received => !facts.has(received as never)).map(({ id }) => id)
}
const paused = () => {
  const brakes = open()
  brakes.learn(all(many(20), ended('retry', 'poison', true)))
  assert.deepEqual(brakes.engaged, [{ type: 'T', cause: '42703 at h:1' }])
  return brakes
}

const failedAs = (failureClass: string) =>
  ({ kind: 'failed', failure: { class: failureClass } }) as unknown as Fact

describe('the brake', () => {
  test('waits longer after a message ahead of its turn that its handler failed, not after a verdict or an outage', () => {
    const brakes = paused()
    nowMs += brake.pauseMs
    const ahead = message('ahead')
    assert.ok(brakes.wantsAhead(ahead))
    for (const fact of [{ kind: 'verdict', verdict: { kind: 'ignore' } } as Fact, failedAs('transient')]) {
      assert.equal(brakes.triedAhead(ahead, fact), null)
      assert.ok(brakes.wantsAhead(ahead))
    }
    assert.equal(brakes.triedAhead(ahead, failedAs('poison')), null)
    assert.ok(!brakes.wantsAhead(message('another')))
    assert.notEqual(brakes.triedAhead(ahead, { kind: 'handled' } as Fact), null)
    assert.deepEqual(brakes.engaged, [])
  })

  test('overrules the failures that complete the evidence, and only those of that cause', () => {
    const brakes = open()
    assert.equal(brakes.overrule(asMap(all(many(19), ended('parked')))).size, 0)
    const some = [...all(many(20), ended('parked')), ...all(many(5, 'v'), ended('retry'))]
    assert.equal(brakes.overrule(asMap(some)).size, 20)
  })

  test('counts earlier ends, and no failure that is retried', () => {
    const brakes = open()
    assert.deepEqual(brakes.learn(all(many(500, 'r'), ended('retry'))), [])
    assert.equal(brakes.isAlert, false)
    brakes.learn(all(many(19), ended('parked')))
    assert.equal(brakes.overrule(asMap(all(many(1, 'last'), ended('parked')))).size, 1)
  })

  test('counts no failure that the breaker counts', () => {
    assert.equal(open().overrule(asMap(all(many(50), ended('parked', 'transient')))).size, 0)
  })

  test('tries nothing during the pause, then one message of each kind, preferring another key', () => {
    const brakes = paused()
    const same = message('n0', { key: 'm0' })
    const fresh = [...many(20), same, message('n1'), message('n2')]
    assert.deepEqual(tried(brakes, fresh), [])
    nowMs += 1_000
    assert.deepEqual(tried(brakes, fresh), ['m0', 'n1'])
    assert.deepEqual(tried(brakes, [message('o', { type: 'Other' })]), ['o'])
  })

  test('tries no message that waits for another one of its batch', () => {
    const brakes = paused()
    nowMs += 1_000
    const [waits, next] = [message('n1'), message('n2')]
    assert.deepEqual(tried(brakes, [waits, next], undefined, [next]), ['n2'])
  })

  test('doubles the pause of each kind, and tries the same failed message again', () => {
    const brakes = paused()
    nowMs += 1_000
    const facts = new Map([[message('m0'), { kind: 'failed', failure: { class: 'poison' } } as Fact]])
    assert.deepEqual([...brakes.failedProbes(facts).values()], [2_000])
    brakes.learn(all([message('m3'), message('n1')], ended('retry', 'poison', true)))
    nowMs += 1_999
    assert.deepEqual(tried(brakes, [message('m0'), message('m3'), message('n2')]), [])
    nowMs += 1
    assert.deepEqual(tried(brakes, [message('m0'), message('m3'), message('n2')]), ['m3', 'n2'])
  })

  test('ends when a message is applied, and its cause pauses nothing for ten minutes', () => {
    const brakes = paused()
    const [event] = brakes.learn(all(many(1, 'n'), ended('applied')))
    assert.equal(event!.event, 'released')
    brakes.learn(all(many(100, 'b'), ended('parked')))
    assert.deepEqual(brakes.engaged, [])
    nowMs += 600_000
    assert.equal(brakes.learn(all(many(1, 'c'), ended('parked')))[0]!.event, 'engaged')
  })

  test('pauses again at the next final failure when only another process could apply a message', () => {
    const brakes = paused()
    assert.equal(brakes.release('T', 'other process')!.event, 'released')
    assert.equal(brakes.overrule(asMap(all(many(1, 'n'), ended('parked')))).size, 1)
    const byOperator = paused()
    byOperator.release('T', 'operator')
    assert.equal(byOperator.overrule(asMap(all(many(50, 'n'), ended('parked')))).size, 0)
  })

  test('tries a probe again that failed while another one ended the pause, and then counts its failures', () => {
    const brakes = paused()
    nowMs += 1_000
    const [old, fresh] = [message('m0'), message('n1')]
    assert.deepEqual(tried(brakes, [old, fresh]), ['m0', 'n1'])
    brakes.learn(all([fresh], ended('applied')))
    assert.deepEqual(brakes.engaged, [])
    const failed = { kind: 'failed', failure: { class: 'poison' } } as Fact
    const facts = new Map([[old, failed]])
    assert.deepEqual([...brakes.failedProbes(facts).keys()], [old])
    brakes.learn(all([old], ended('retry', 'poison', true)))
    assert.deepEqual([...brakes.failedProbes(facts).keys()], [])
  })

  test('takes a message with stored attempts for one that was tried', () => {
    const brakes = open()
    brakes.resume('T', 'c')
    assert.deepEqual(tried(brakes, [message('a', { attempts: 2 }), message('b', { attempts: 1 })]), ['a'])
  })
})

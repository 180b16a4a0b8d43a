import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ConsumerContract } from 'onceward'
import { failureRules } from '../../src/contract/failure-rules.ts'
import { decideInOrder, leaderState, takesPlace } from '../../src/engine/batch/decide-in-order.ts'
import {
  appliedDecision,
  decideOutcome,
  noAttempts,
  storedDecision,
} from '../../src/engine/batch/decide-outcome.ts'
import type { Decision, Fact } from '../../src/engine/batch/outcome.ts'
import { ignore, park, reject, retryAfter, Verdict } from '../../src/engine/batch/verdicts.ts'
import type { ConsumerContext } from '../../src/engine/consumer-context.ts'
import type { ReadableMessage } from '../../src/message/received.ts'
import { receivedOf } from './received.ts'

type Order = 'none' | 'key' | 'partition'
type Mode = 'block' | 'defer'

/** A message of the batch: what is known of it before, or the earlier one that it repeats. */
interface Line {
  readonly id: string
  readonly lane?: string | null
  readonly fact?: Fact
  readonly repeats?: number
  readonly digest?: string
  readonly businessDigest?: string | null
}

interface Run {
  readonly order?: Order
  readonly mode?: Mode
  readonly stage?: ConsumerContext['stage']
}

const said = (verdict: ReturnType<typeof park>): Fact => ({ kind: 'verdict', verdict })
const handled: Fact = { kind: 'handled' }
const again = said(retryAfter(700, 'later'))
const parked = said(park('an operator decides'))
const ignored = said(ignore('not ours'))
const rejected = said(reject('never'))
const conflicting: Fact = { kind: 'seen', status: 'applied', sameDigest: false }

/** The decisions in order, and the facts that this pass found. */
function decide(lines: readonly Line[], { order = 'key', mode = 'block', stage = 'inline' }: Run = {}) {
  const failure = { attemptsMax: 3, delayMs: 700, delayMaxMs: 700, mode }
  const policy = failureRules({ owner: 'o', risk: 'low value', order, failure } as ConsumerContract)
  const context = { consumer: { order }, stage, store: { work: {} } } as unknown as ConsumerContext
  const batch = lines.map(({ id, lane = 'k', digest, businessDigest = null }) => ({
    ...receivedOf(id, lane),
    digest: Buffer.from(digest ?? id),
    businessDigest: businessDigest === null ? null : Buffer.from(businessDigest),
  }))
  const repeats = new Map<ReadableMessage, ReadableMessage>()
  const decisions = new Map<ReadableMessage, Decision>()
  const found: Fact[] = []
  for (const [n, { fact, repeats: first }] of lines.entries()) {
    if (first !== undefined) repeats.set(batch[n]!, batch[first]!)
    if (fact !== undefined) decisions.set(batch[n]!, decideOutcome(fact, noAttempts, policy))
  }
  const note = (received: ReadableMessage, fact: Fact) => {
    found.push(fact)
    decisions.set(received, decideOutcome(fact, noAttempts, policy))
  }
  decideInOrder(batch, { repeats } as never, decisions as never, note as never, context)
  return { outcomes: batch.map(one => decisions.get(one)!.outcome), found }
}

const behind = (leader: 'retry' | 'deferred' | 'parked' | 'gone', delayMs = 0): Fact => ({
  ...{ kind: 'behind', leader, delayMs },
})

describe('a message without a fact', () => {
  const rows: [string, Fact, Run, Fact][] = [
    ['a parked one of its key', parked, {}, behind('parked')],
    ['one that is tried again', again, {}, behind('retry', 700)],
    ['one that is deferred', again, { mode: 'defer' }, behind('deferred', 700)],
    ['a rejected one', rejected, {}, behind('gone')],
    ['an applied one', handled, {}, behind('gone')],
    ['a parked one of its partition', parked, { order: 'partition' }, behind('gone')],
    ['one of its partition that is tried again', again, { order: 'partition' }, behind('retry', 700)],
  ]
  for (const [what, fact, run, expected] of rows)
    test(`behind ${what}`, () => {
      const lane = run.order === 'partition' ? 'p' : 'k'
      const { found } = decide(
        [
          { id: 'a', lane, fact },
          { id: 'b', lane },
        ],
        run,
      )
      assert.deepEqual(found, [expected])
    })

  test('only its own lane counts, and none without a lane', () => {
    const { found } = decide([
      { id: 'a', lane: 'x', fact: again },
      { id: 'b', lane: 'y' },
    ])
    assert.deepEqual(found, [behind('gone')])
    const loose = decide(
      [
        { id: 'a', lane: null, fact: again },
        { id: 'b', lane: null },
      ],
      { order: 'none' },
    )
    assert.deepEqual(loose.found, [behind('gone')])
  })

  test('a later success does not free the lane', () => {
    const { found } = decide([{ id: 'a', fact: again }, { id: 'b', fact: handled }, { id: 'c' }])
    assert.deepEqual(found, [behind('retry', 700)])
  })
})

describe('a row in front of an earlier message of its order key', () => {
  const rows: [string, Fact, Fact, Run, Fact | null][] = [
    ['parked behind a retry', again, parked, {}, behind('retry', 700)],
    ['parked behind a parked one', parked, parked, {}, null],
    ['stored behind a retry', again, { kind: 'kept' }, {}, behind('retry', 700)],
    ['stored behind a parked one', parked, { kind: 'kept' }, {}, behind('parked')],
    ['deferred behind a deferred one', again, again, { mode: 'defer' }, null],
    ['parked behind a deferred one', again, parked, { mode: 'defer' }, behind('deferred', 700)],
    ['deferred behind a parked one', parked, again, { mode: 'defer' }, behind('parked')],
    ['applied behind a retry', again, handled, {}, null],
    ['ignored behind a retry', again, ignored, {}, null],
    ['parked behind an applied one', handled, parked, {}, null],
    ['parked behind a retry of its partition', again, parked, { order: 'partition' }, null],
    ['parked behind a retry without order', again, parked, { order: 'none' }, null],
  ]
  for (const [what, first, second, run, expected] of rows)
    test(what, () => {
      const lines = [
        { id: 'a', fact: first },
        { id: 'b', fact: second },
      ]
      assert.deepEqual(decide(lines, run).found, expected === null ? [] : [expected])
    })

  test('a message that waits for a business key out of turn may be in front', () => {
    const waits = (inTurn: boolean): Fact => ({
      ...{ kind: 'key held', byId: 'z', as: 'parked', delayMs: 0, inTurn },
    })
    const lines = (inTurn: boolean) => [
      { id: 'a', fact: again },
      { id: 'b', fact: waits(inTurn) },
    ]
    assert.deepEqual(decide(lines(true)).found, [behind('retry', 700)])
    // Nothing of its key waits behind it, but its row is no reason to overtake either.
    assert.deepEqual(decide(lines(false)).found, [])
  })
})

describe('a repeat inside the batch', () => {
  const repeat = (fact: Fact | undefined, digest = 'a', run: Run = {}) =>
    decide(
      [
        { id: 'a', digest: 'a', ...(fact && { fact }) },
        { id: 'a', digest, repeats: 0 },
      ],
      run,
    )

  test('of an applied message is a duplicate, or a conflict', () => {
    assert.deepEqual(repeat(handled).found, [{ kind: 'seen', status: 'applied', sameDigest: true }])
    assert.deepEqual(repeat(handled, 'other').outcomes, ['applied', 'quarantined'])
  })

  test('has the state of the first one', () => {
    assert.deepEqual(repeat(parked).found, [{ kind: 'seen', status: 'parked', sameDigest: true }])
    assert.deepEqual(repeat(again).found, [behind('retry', 700)])
    assert.deepEqual(repeat({ kind: 'seen', status: 'parked', sameDigest: true }).found, [
      { kind: 'seen', status: 'stored', sameDigest: true },
    ])
  })

  test('of one that conflicts with its marker waits for that marker', () => {
    assert.deepEqual(repeat(conflicting).found, [behind('gone')])
  })

  test('of one that went to a retry queue of the broker is held', () => {
    const rerouted = { ...appliedDecision, outcome: 'rerouted' as const }
    const batch = [receivedOf('a', 'k'), { ...receivedOf('a', 'k'), digest: Buffer.from('a') }] as const
    const facts: Fact[] = []
    const decisions = new Map<unknown, Decision>([[batch[0], rerouted]])
    const note = (received: unknown, fact: Fact) => {
      facts.push(fact)
      decisions.set(received, storedDecision)
    }
    const context = { consumer: { order: 'key' }, stage: 'inline' } as unknown as ConsumerContext
    const repeats = new Map([[batch[1], batch[0]]])
    decideInOrder(batch, { repeats } as never, decisions as never, note as never, context)
    assert.deepEqual(facts, [{ kind: 'seen', status: 'stored', sameDigest: true }])
  })
})

describe('a message with the business key of an earlier one', () => {
  const pair = (first: Fact, changes: Partial<Line> = {}, run: Run = {}) =>
    decide(
      [
        { id: 'a', businessDigest: 'd', fact: first },
        { id: 'b', lane: 'l', repeats: 0, ...changes },
      ],
      run,
    )

  test('that was applied is a duplicate, or a conflict where both digests are known', () => {
    const seen = (sameDigest: boolean) => [{ kind: 'business seen', byId: 'a', sameDigest }]
    assert.deepEqual(pair(handled, { businessDigest: 'd' }).found, seen(true))
    assert.deepEqual(pair(handled, { businessDigest: 'e' }).found, seen(false))
    assert.deepEqual(pair(handled).found, seen(true))
    const unknown = [
      { id: 'a', fact: handled },
      { id: 'b', lane: 'l', repeats: 0, businessDigest: 'd' },
    ]
    assert.deepEqual(decide(unknown).found, seen(true))
  })

  test('that released the key may run', () => {
    assert.deepEqual(pair(rejected).found, [behind('gone')])
    assert.deepEqual(pair(ignored).found, [behind('gone')])
  })

  test('that is tried again waits for it', () => {
    assert.deepEqual(pair(again).found, [behind('retry', 700)])
  })

  test('that keeps the key waits in its state', () => {
    const held = (as: string, delayMs: number) => [{ kind: 'key held', byId: 'a', as, delayMs, inTurn: true }]
    assert.deepEqual(pair(parked).found, held('parked', 0))
    assert.deepEqual(pair(again, {}, { mode: 'defer' }).found, held('deferred', 5_000))
  })

  test('that is stored is stored too, while messages are only stored', () => {
    assert.deepEqual(pair({ kind: 'kept' }, {}, { stage: 'enqueue' }).found, [{ kind: 'kept' }])
    assert.equal(pair({ kind: 'kept' }).found[0]!.kind, 'key held')
    assert.equal(pair(parked, {}, { stage: 'enqueue' }).found[0]!.kind, 'key held')
  })

  test('whose holder comes later in the batch and is undecided is not decided by it', () => {
    assert.deepEqual(decide([{ id: 'b', lane: 'l', repeats: 1 }, { id: 'a' }]).found, [
      behind('gone'),
      behind('gone'),
    ])
  })
})

describe('the state that a message leaves to its lane', () => {
  const of = (fact: Fact, mode: Mode = 'block') => {
    const failure = { attemptsMax: 3, mode }
    const rules = failureRules({ owner: 'o', risk: 'low value', order: 'key', failure } as ConsumerContract)
    return decideOutcome(fact, noAttempts, rules)
  }

  test('by order', () => {
    const states = (fact: Fact) => (['key', 'partition', 'none'] as const).map(o => leaderState(of(fact), o))
    assert.deepEqual(states(parked), ['parked', 'gone', 'gone'])
    assert.deepEqual(states(again), ['retry', 'retry', 'retry'])
    assert.deepEqual(states(handled), ['gone', 'gone', 'gone'])
    assert.equal(leaderState(undefined, 'key'), 'gone')
  })

  test('a quarantined message blocks its key only if its verdict says so', () => {
    const quarantined = (blocksKey: boolean) => of(said(Verdict.quarantine('q', 'q', { blocksKey })))
    assert.equal(leaderState(quarantined(true), 'key'), 'parked')
    assert.equal(leaderState(quarantined(false), 'key'), 'gone')
    assert.deepEqual([takesPlace(quarantined(true)), takesPlace(quarantined(false))], [true, false])
  })

  test('a deferred message takes its place, unless it waits out of turn', () => {
    const deferred = of(again, 'defer')
    assert.deepEqual([takesPlace(deferred), takesPlace({ ...deferred, outOfTurn: true })], [true, false])
    assert.deepEqual([takesPlace(of(parked)), takesPlace(of(handled))], [true, false])
  })
})

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { type Entry, PartitionProgress } from '../../src/drivers/log/partition-progress.ts'
import type { Progress } from '../../src/ports/source.ts'

const begin = () => new PartitionProgress('p', 1, { incarnation: 'one', next: '0' })

interface Handed {
  readonly entry: Entry
  readonly at: number
  readonly bytes: number
  /** Where the log goes on, as far as it is known. */
  after: number
}

/** Offsets, so that the model can compare what the code never compares. */
class Model {
  readonly progress = begin()
  readonly entries: Handed[] = []
  #first = 0
  end = 0

  /** A record of some bytes behind a gap of some offsets. */
  hand(gap: number, bytes: number): void {
    const at = this.end + gap
    this.end = at + 1
    const entry = { progress: this.progress, next: String(this.end), bytes, timestampMs: at, settled: false }
    this.progress.hand(entry)
    this.entries.push({ entry, at, bytes, after: this.end })
  }

  pass(gap: number): void {
    this.end += gap
    this.progress.pass(String(this.end))
    const last = this.entries.at(-1)
    if (last === undefined) this.#first = this.end
    else last.after = this.end
  }

  get unfinished(): Handed[] {
    return this.entries.filter(({ entry }) => !entry.settled)
  }

  assertExact(): void {
    const { progress, unfinished, entries } = this
    const position = Number(progress.position)
    assert.ok(position <= (unfinished[0]?.at ?? this.end), 'the position is past an unfinished record')
    const done = unfinished.length === 0 ? entries.length : entries.indexOf(unfinished[0]!)
    assert.equal(position, done === 0 ? this.#first : entries[done - 1]!.after)
    assert.equal(progress.unsettled, unfinished.length)
    assert.equal(
      progress.unsettledBytes,
      unfinished.reduce((sum, { bytes }) => sum + bytes, 0),
    )
    assert.equal(progress.oldestMs, unfinished[0]?.at ?? null)
  }
}

const nat = (max: number) => fc.nat({ max })
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('hand' as const), gap: nat(2), bytes: nat(50) }) },
  // So many bytes that what is settled behind an unfinished record is gathered.
  { weight: 1, arbitrary: fc.record({ do: fc.constant('hand' as const), gap: nat(2), bytes: nat(2 ** 21) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('pass' as const), gap: nat(3) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('settle' as const), which: nat(1_000) }) },
)

describe('the position of a partition', () => {
  test('is directly after the longest settled run, in any order of settling', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), steps => {
        const model = new Model()
        let last = 0
        for (const one of steps) {
          if (one.do === 'hand') model.hand(one.gap, one.bytes)
          else if (one.do === 'pass') model.pass(one.gap)
          else if (model.unfinished.length > 0) {
            const { entry } = model.unfinished[one.which % model.unfinished.length]!
            assert.equal(model.progress.settle(entry), true)
            assert.equal(model.progress.settle(entry), false, 'settled twice')
            const { position } = model.progress
            assert.equal(model.progress.advance(), model.progress.position !== position)
          }
          model.assertExact()
          assert.ok(Number(model.progress.position) >= last, 'the position moved back')
          last = Number(model.progress.position)
        }
      }),
      { numRuns: 500 },
    )
  })

  test('stays exact over thousands of records, when settled ones are thrown away', () => {
    const model = new Model()
    for (let index = 0; index < 5_000; index++) {
      model.hand(index % 7 === 0 ? 1 : 0, 1)
      if (index < 3) continue
      const { entry, after } = model.entries[index - 3]!
      assert.equal(model.progress.settle(entry), true)
      assert.equal(model.progress.advance(), true)
      assert.equal(model.progress.position, String(after))
      assert.equal(model.progress.unsettled, 3)
    }
  })

  test('stays exact behind a record that is unfinished for long, and moves past everything when it is finished', () => {
    const model = new Model()
    model.hand(0, 1)
    for (let index = 1; index < 5_000; index++) {
      model.hand(index % 7 === 0 ? 1 : 0, 1)
      if (index % 1_000 === 0) continue
      assert.equal(model.progress.settle(model.entries[index]!.entry), true)
      assert.equal(model.progress.advance(), false)
    }
    model.pass(3)
    assert.deepEqual([model.progress.position, model.progress.unsettled], ['0', 5])
    const [first, ...others] = model.unfinished
    model.progress.settle(first!.entry)
    assert.equal(model.progress.advance(), true)
    assert.equal(model.progress.position, String(model.entries[999]!.after))
    for (const { entry } of others) model.progress.settle(entry)
    model.progress.advance()
    assert.equal(model.progress.position, String(model.end))
  })

  test('of a partition that went to another owner moves no more, and its entries count no more', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), steps => {
        const model = new Model()
        for (const one of steps) if (one.do === 'hand') model.hand(one.gap, one.bytes)
        const { position } = model.progress
        model.progress.end()
        assert.equal(model.progress.live, false)
        for (const { entry } of model.entries) assert.equal(model.progress.settle(entry), false)
        assert.equal(model.progress.position, position)
        assert.deepEqual([model.progress.unsettled, model.progress.unsettledBytes], [0, 0])
      }),
    )
  })
})

/** A row that transactions move, and transactions that may fail or stay open beside others. */
class Ledger {
  readonly model = new Model()
  readonly keeper: 'store' | 'only'
  row = 0
  readonly applied = new Set<Entry>()
  readonly open: { readonly done: Entry[]; readonly proposal: Progress }[] = []

  constructor(keeper: 'store' | 'only') {
    this.keeper = keeper
  }

  begin(count: number, skip: number): void {
    const busy = new Set(this.open.flatMap(({ done }) => done))
    const free = this.model.unfinished.map(({ entry }) => entry).filter(entry => !busy.has(entry))
    const done = free.slice(skip, skip + count)
    if (done.length === 0) return
    const before = this.model.progress.position
    const proposal = this.model.progress.proposal(new Set(done), this.keeper)
    assert.equal(this.model.progress.position, before, 'proposing settled something')
    this.open.push({ done, proposal })
  }

  end(which: number, commits: boolean): void {
    if (this.open.length === 0) return
    const [transaction] = this.open.splice(which % this.open.length, 1)
    const { done, proposal } = transaction!
    if (!commits) return
    if (proposal.from !== null)
      assert.equal(Number(proposal.from), this.row, 'another place than the store has')
    for (const entry of done) this.applied.add(entry)
    if (proposal.next !== null) {
      assert.ok(Number(proposal.next) >= this.row, 'the stored position moved back')
      this.row = Number(proposal.next)
    }
    for (const entry of done) this.model.progress.settle(entry)
    this.model.progress.advance()
  }

  assertSafe(): void {
    const missing = this.model.entries.find(({ entry }) => !this.applied.has(entry))
    assert.ok(this.row <= (missing?.at ?? this.model.end), 'the stored position leads an effect')
    if (this.model.progress.isStored)
      assert.equal(this.row, Number(this.model.progress.position), 'taken for stored, but it is not')
  }
}

const turn = fc.oneof(
  fc.record({ do: fc.constant('hand' as const), gap: nat(2) }),
  fc.record({ do: fc.constant('pass' as const), gap: nat(2) }),
  fc.record({ do: fc.constant('begin' as const), count: fc.integer({ min: 1, max: 5 }), skip: nat(2) }),
  fc.record({ do: fc.constant('end' as const), which: nat(3), commits: fc.boolean() }),
)

describe('a position that is kept in the store', () => {
  test('never leads an effect and never moves back, with several transactions open and some failing', () => {
    fc.assert(
      fc.property(fc.array(turn, { maxLength: 80 }), turns => {
        const ledger = new Ledger('store')
        for (const one of turns) {
          if (one.do === 'hand') ledger.model.hand(one.gap, 1)
          else if (one.do === 'pass') ledger.model.pass(one.gap)
          else if (one.do === 'begin') ledger.begin(one.count, one.skip)
          else ledger.end(one.which, one.commits)
          ledger.assertSafe()
        }
      }),
      { numRuns: 1_000 },
    )
  })

  test('without markers moves from exactly the stored position, one transaction after the other', () => {
    fc.assert(
      fc.property(fc.array(turn, { maxLength: 80 }), turns => {
        const ledger = new Ledger('only')
        for (const one of turns) {
          if (one.do === 'hand') ledger.model.hand(one.gap, 1)
          else if (one.do === 'pass') ledger.model.pass(one.gap)
          else if (one.do === 'end') ledger.end(one.which, one.commits)
          else if (ledger.open.length === 0) ledger.begin(one.count, 0)
          ledger.assertSafe()
        }
        while (ledger.open.length > 0) ledger.end(0, true)
        for (let left = ledger.model.unfinished.length; left > 0; left = ledger.model.unfinished.length) {
          ledger.begin(left, 0)
          ledger.end(0, true)
        }
        assert.ok(
          ledger.row >= (ledger.model.entries.at(-1)?.at ?? -1) + 1,
          'an effect the store does not know',
        )
      }),
      { numRuns: 1_000 },
    )
  })

  test('otherwise only proves the ownership of the partition', () => {
    for (const keeper of ['broker', 'first'] as const) {
      const progress = begin()
      const entry = { progress, next: '1', bytes: 1, timestampMs: null, settled: false }
      progress.hand(entry)
      const proposal = progress.proposal(new Set([entry]), keeper)
      assert.deepEqual(proposal, { partition: 'p', epoch: 1, incarnation: 'one', from: null, next: null })
    }
  })
})

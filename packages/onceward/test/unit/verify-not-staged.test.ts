import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Fault, FaultClass } from '../../src/verify/fault.ts'
import { fewestMessages } from '../../src/verify/fewest-messages.ts'
import type { Judgement } from '../../src/verify/judge-run.ts'
import { notStaged } from '../../src/verify/not-staged.ts'

const fault = (kind: FaultClass): Fault => ({ class: kind, trigger: null, number: 1 })
const plan = { faults: (['twice', 'late', 'twice'] as const).map(fault), skipped: {} }
const judged = (kind: FaultClass, verdict: Judgement['verdict']): Judgement => ({
  ...{ fault: fault(kind), messages: [], verdict, differences: [], broken: [], trouble: null },
})
const work = {
  ...{ judged: [] as Judgement[], cleanCut: false, budgetMs: 4_000, share: 0.75 },
  ...{ startMs: 1_000, faultsMs: 3_000 },
}

describe('faults that were not staged', () => {
  it('a class without a staged fault is named, with a budget that would suffice', () => {
    const missing = notStaged(plan, { ...work, judged: [judged('twice', 'survived')] })
    assert.match(missing!.what, /before any fault of these classes was staged: late\./)
    // A second until the first fault, and 3 s a fault for two classes, twice, of three quarters.
    assert.equal(missing!.budget, '20s')
    assert.match(missing!.fix, /--budget 20s/)
  })

  it('a run that was cut does not count, and one staged fault of a class is enough', () => {
    const late = judged('late', 'cut')
    assert.match(notStaged(plan, { ...work, judged: [judged('twice', 'failed'), late] })!.what, /: late\./)
    const both = [judged('twice', 'failed'), judged('late', 'survived')]
    assert.equal(notStaged(plan, { ...work, judged: both }), null)
  })

  it('a moment that never came is no proof either, unless other faults were staged', () => {
    const never = [judged('twice', 'not reached'), judged('late', 'not reached')]
    const few = { ...plan, faults: plan.faults.slice(0, 2) }
    assert.match(notStaged(few, { ...work, judged: never })!.what, /No fault was staged: the moment of/)
    assert.equal(notStaged(few, { ...work, judged: [judged('twice', 'survived'), never[1]!] }), null)
    assert.equal(notStaged({ faults: [], skipped: {} }, work), null)
  })

  it('clean runs that were cut leave everything open', () => {
    assert.match(notStaged({ faults: [], skipped: {} }, { ...work, cleanCut: true })!.what, /clean runs/)
  })
})

describe('the fewest messages', () => {
  const ten = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]

  it('three of ten that are needed are found, and no more are kept', async () => {
    const tried: number[] = []
    const needs = async (some: readonly number[]) => {
      tried.push(some.length)
      return [2, 5, 9].every(one => some.includes(one)) ? some.join() : null
    }
    assert.deepEqual(await fewestMessages(ten, needs), { messages: [2, 5, 9], failure: '2,5,9' })
    assert.ok(tried.length <= 13, `${tried.length} repeats`)
  })

  it('a message that is only needed beside another one leaves with it', async () => {
    const needs = async (some: readonly number[]) =>
      some.includes(3) && (!some.includes(1) || some.includes(2)) ? 'fails' : null
    assert.deepEqual((await fewestMessages([2, 1, 3], needs))?.messages, [3])
  })

  it('nothing smaller is null', async () => {
    assert.equal(await fewestMessages(ten, async () => null), null)
  })
})

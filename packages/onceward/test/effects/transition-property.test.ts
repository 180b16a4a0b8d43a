import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import { skipWithout } from '../services/services.ts'
import { type Step, workflow } from './declared-contracts.ts'
import { DeclaredRig } from './declared-rig.ts'

const legal = ['Opened', 'ReviewStarted', 'Escalated', 'Closed', 'ClosureCorrected', 'ClosureCorrected']

/** Histories of a few cases, of different lengths. */
const lives = fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 4 }).map(lengths =>
  lengths.flatMap((length, n) =>
    legal.slice(0, length).map((event, index): Step => {
      const transitionId = `case-${n}/${index + 1}`
      return {
        id: transitionId,
        transitionId,
        caseId: `case-${n}`,
        event,
        version: index + 1,
        outcome: `o${index}`,
      }
    }),
  ),
)

/** The same transitions repeated under their own and other message ids, in any order. */
const deliveries = lives.chain(steps =>
  fc.array(fc.tuple(fc.nat({ max: steps.length - 1 }), fc.boolean()), { maxLength: 12 }).chain(extra => {
    const repeats = extra.map(([index, renamed], n) => {
      const one = steps[index]!
      return renamed ? { ...one, id: `${one.id}#${n}` } : one
    })
    const all = [...steps, ...repeats]
    return fc.tuple(
      fc.constant(steps),
      fc.shuffledSubarray(all, { minLength: all.length, maxLength: all.length }),
      fc.integer({ min: 1, max: 8 }),
      fc.uniqueArray(fc.integer({ min: 1, max: 12 }), { maxLength: 4 }),
    )
  }),
)

describe('transitions under any accidents', await skipWithout('postgres'), () => {
  let rig: DeclaredRig
  before(async () => {
    rig = await DeclaredRig.open()
  })
  after(() => rig.close())

  const rows = async () => [
    await rig.rows('select * from workflow order by 1'),
    await rig.rows(
      'select transition_id, aggregate_id, from_state, to_state, version, actor, reason from workflow_fact order by aggregate_id, seq',
    ),
  ]

  test('any repeats, order, batch cuts and rollbacks leave the rows of one clean pass', async () => {
    await fc.assert(
      fc.asyncProperty(deliveries, async ([steps, arriving, sizeMax, rolledBack]) => {
        await rig.clear()
        await rig.pass(workflow(), steps)
        const clean = await rows()
        await rig.clear()
        const { name } = await rig.pass(workflow(), arriving, { sizeMax, rolledBack: new Set(rolledBack) })
        assert.deepEqual(await rows(), clean)
        assert.deepEqual(await rig.held(name), [])
      }),
      { numRuns: 20 },
    )
  })

  test('a replay from zero that remembers no message changes nothing', async () => {
    await fc.assert(
      fc.asyncProperty(deliveries, async ([steps, arriving, sizeMax]) => {
        await rig.clear()
        await rig.pass(workflow(), steps)
        const before = await rows()
        const replayed = await rig.pass(workflow(), arriving, { sizeMax })
        assert.deepEqual(await rows(), before)
        assert.equal(replayed.outcomes.applied ?? 0, 0)
      }),
      { numRuns: 8 },
    )
  })
})

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import { skipWithout } from '../services/services.ts'
import { type Minutes, minutes } from './declared-contracts.ts'
import { DeclaredRig } from './declared-rig.ts'

const fact = fc.record({
  team: fc.constantFrom('red', 'blue', 'green'),
  at: fc.integer({ min: 0, max: 300_000 }),
  minutes: fc.oneof(
    fc.integer({ min: -1_000, max: 1_000 }),
    fc.integer({ min: 0, max: 99_999 }).map(n => `${n}.${String(n % 100).padStart(2, '0')}`),
  ),
})

/** Facts of which some correct an earlier one, each earlier one at most once. */
const history = fc
  .array(fc.tuple(fact, fc.boolean(), fc.boolean()), { minLength: 1, maxLength: 14 })
  .map(drawn => {
    const facts: Minutes[] = []
    const standing: string[] = []
    for (const [n, [one, corrects, withdrawn]] of drawn.entries()) {
      const id = `e${n}`
      const target = corrects ? standing.shift() : undefined
      facts.push({ id, eventId: id, ...one, ...(target && { corrects: target, withdrawn }) })
      if (target === undefined || !withdrawn) standing.push(id)
    }
    return facts
  })

const deliveries = history.chain(facts =>
  fc.array(fc.tuple(fc.nat({ max: facts.length - 1 }), fc.boolean()), { maxLength: 12 }).chain(extra => {
    const repeats = extra.map(([index, renamed], n) => {
      const one = facts[index]!
      return renamed ? { ...one, id: `${one.id}#${n}` } : one
    })
    const all = [...facts, ...repeats]
    return fc.tuple(
      fc.constant(facts),
      fc.shuffledSubarray(all, { minLength: all.length, maxLength: all.length }),
      fc.integer({ min: 1, max: 8 }),
      fc.uniqueArray(fc.integer({ min: 1, max: 12 }), { maxLength: 4 }),
    )
  }),
)

describe('contributions under any accidents', await skipWithout('postgres'), () => {
  let rig: DeclaredRig
  before(async () => {
    rig = await DeclaredRig.open()
  })
  after(() => rig.close())

  const rows = async () => [
    await rig.rows('select * from minutes_window order by 1, 2'),
    await rig.rows(
      'select event_id, sign, reverses, key, window_start, occurred_at, minutes from minutes_fact order by 1, 2',
    ),
  ]
  const drift = () => minutes().drift((sql, values) => rig.pool.query(sql, values as never) as never)

  test('any repeats, order, batch cuts and rollbacks leave the rows of one clean pass, equal to their rebuild', async () => {
    await fc.assert(
      fc.asyncProperty(deliveries, async ([facts, arriving, sizeMax, rolledBack]) => {
        await rig.clear()
        await rig.pass(minutes(), facts)
        const clean = await rows()
        assert.deepEqual(await drift(), [])
        await rig.clear()
        const { name } = await rig.pass(minutes(), arriving, { sizeMax, rolledBack: new Set(rolledBack) })
        assert.deepEqual(await rows(), clean)
        assert.deepEqual(await drift(), [])
        assert.deepEqual(await rig.held(name), [])
      }),
      { numRuns: 20 },
    )
  })
})

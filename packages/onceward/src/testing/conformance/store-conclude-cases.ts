import assert from 'node:assert/strict'
import type { AttemptCount } from '../../ports/conclusion.ts'
import type { ConformanceCase } from './conformance-case.ts'
import type { StoreFeature } from './store.ts'
import { claimOf, conclusionOf, digest, heldOf, type StoreBench } from './store-bench.ts'

type Cases = readonly ConformanceCase<StoreBench<unknown>, StoreFeature>[]

/** What a batch records for messages that were not simply applied. */
export const storeConcludeCases: Cases = [
  {
    name: 'a message to be retried releases its marker and its business key',
    needs: ['business keys'],
    async run(bench) {
      await bench.transaction(async session => {
        await session.insertMarkers([claimOf('a'), claimOf('b')])
        await session.businessKeys!.insert([
          { key: 'ka', digest: null, id: 'a' },
          { key: 'kb', digest: null, id: 'b' },
        ])
        await session.conclude([conclusionOf('a', 'retry', { businessKey: 'ka' })])
      })
      assert.equal(await bench.marker('a'), null)
      assert.equal(await bench.marker('b'), 'applied')
      assert.equal(await bench.under.businessKey!(bench.name, 'ka'), null)
      assert.equal(await bench.under.businessKey!(bench.name, 'kb'), 'b')
      const answers = await bench.transaction(async s => [
        ...(await s.insertMarkers([claimOf('a')])),
        ...(await s.businessKeys!.insert([{ key: 'ka', digest: null, id: 'a' }])),
      ])
      assert.deepEqual(answers, [{ kind: 'first' }, { kind: 'first' }])
    },
  },
  {
    name: 'ignored, duplicate, parked, dead and quarantined stay visible on the marker',
    async run(bench) {
      const states = ['ignored', 'duplicate', 'parked', 'dead', 'quarantined'] as const
      await bench.transaction(async session => {
        await session.insertMarkers(states.map(state => claimOf(state)))
        await session.conclude(states.map(state => conclusionOf(state, state)))
      })
      for (const state of states) {
        assert.equal(await bench.marker(state), state)
        const [answer] = await bench.transaction(s => s.insertMarkers([claimOf(state)]))
        assert.deepEqual(answer, { kind: 'seen', status: state, sameDigest: true })
      }
    },
  },
  {
    name: 'held work keeps all bytes and facts of its message',
    async run(bench) {
      await bench.transaction(async session => {
        await session.insertMarkers([claimOf('a')])
        await session.conclude([conclusionOf('a', 'parked')])
      })
      const { body, ...row } = (await bench.held())[0]!
      assert.deepEqual(row, {
        id: 'a',
        state: 'parked',
        seen: 1,
        attempts: 2,
        code: 'because',
        reason: 'because',
      })
      assert.ok(body.equals(Buffer.from([0, 1, 0xff])))
    },
  },
  {
    name: 'holding the same bytes again raises a count and adds no row; other bytes add one',
    async run(bench) {
      const quarantine = (content: string) =>
        bench.transaction(s =>
          s.conclude([conclusionOf('a', 'quarantined', { claimed: false, digest: digest(content) })]),
        )
      await bench.transaction(s => s.insertMarkers([claimOf('a')]))
      await quarantine('x')
      await quarantine('x')
      await quarantine('y')
      const rows = [...(await bench.held())].sort((a, b) => b.seen - a.seen)
      assert.deepEqual(
        rows.map(({ id, seen }) => ({ id, seen })),
        [
          { id: 'a', seen: 2 },
          { id: 'a', seen: 1 },
        ],
      )
      assert.equal(await bench.marker('a'), 'applied', 'the marker of the first content is untouched')
    },
  },
  {
    name: 'bytes without an id are distinguished by their digest, and from a message whose id is "null"',
    async run(bench) {
      const hold = (id: string | null, content: string) =>
        bench.transaction(s =>
          s.conclude([conclusionOf(id, 'quarantined', { claimed: false, digest: digest(content) })]),
        )
      await hold(null, 'x')
      await hold(null, 'x')
      await hold(null, 'y')
      await hold('null', 'x')
      const rows = (await bench.held()).map(({ id, seen }) => `${id === null ? 'none' : `"${id}"`} ${seen}`)
      assert.deepEqual(rows.sort(), ['"null" 1', 'none 1', 'none 2'])
    },
  },
  {
    name: 'attempts are counted from one for each id, and survive',
    async run(bench) {
      const record = (id: string) => ({
        id,
        failureClass: 'transient',
        code: 'E',
        error: 'lost "it" \\ again',
        place: 'capture (payments.ts:7)',
      })
      const fail = async (...ids: string[]) =>
        totals(await bench.transaction(s => s.countAttempts(ids.map(record))))
      assert.deepEqual(await fail('a'), [1])
      assert.deepEqual(await fail('b', 'a', 'c'), [1, 2, 1])
      const again = await bench.under.second.enroll(bench.enrolment.facts)
      const third = await bench.under.second.transaction(again, s => s.countAttempts([record('a')]))
      assert.deepEqual(totals(third), [3])
      assert.equal(await bench.under.attempts(bench.name, 'a'), 3)
    },
  },
  {
    name: 'a rollback removes the attempts of its transaction',
    async run(bench) {
      const record = { id: 'a', failureClass: 'transient', code: 'E', error: 'e', place: '' }
      const failing = bench.transaction(async session => {
        await session.countAttempts([record])
        throw new Error('on purpose')
      })
      await assert.rejects(failing, /on purpose/)
      assert.deepEqual(totals(await bench.transaction(s => s.countAttempts([record]))), [1])
    },
  },
  {
    name: 'attempts are distinguished by class, and the same failure by class, code and place',
    async run(bench) {
      const count = async (failureClass: string, code: string, place: string) => {
        const record = { id: 'a', failureClass, code, error: 'e', place }
        return (await bench.transaction(s => s.countAttempts([record])))[0]
      }
      await count('transient', 'ECONNRESET', 'p')
      assert.deepEqual(await count('overload', '503', 'p'), {
        total: 2,
        byClass: { transient: 1, overload: 1 },
        same: 1,
      })
      assert.equal((await count('overload', '503', 'q'))!.same, 1)
      assert.deepEqual(await count('overload', '503', 'p'), {
        total: 4,
        byClass: { transient: 1, overload: 3 },
        same: 2,
      })
    },
  },
  {
    name: 'releasing one message keeps the business key of another',
    needs: ['business keys'],
    async run(bench) {
      await bench.transaction(async session => {
        await session.insertMarkers([claimOf('a')])
        await session.businessKeys!.insert([{ key: 'k', digest: digest('x'), id: 'a' }])
      })
      await bench.transaction(async session => {
        await session.insertMarkers([claimOf('b')])
        await session.businessKeys!.insert([{ key: 'k', digest: digest('y'), id: 'b' }])
        await session.conclude([conclusionOf('b', 'quarantined', { held: heldOf('quarantined') })])
      })
      assert.equal(await bench.under.businessKey!(bench.name, 'k'), 'a')
    },
  },
]

function totals(counts: readonly AttemptCount[]): number[] {
  return counts.map(({ total }) => total)
}

import assert from 'node:assert/strict'
import type { ConformanceCase } from './conformance-case.ts'
import type { StoreFeature } from './store.ts'
import { claimOf, type StoreBench } from './store-bench.ts'

type Cases = readonly ConformanceCase<StoreBench<unknown>, StoreFeature>[]

const longMs = 60_000
const dayMs = 86_400_000

/** Runs that fell silent, and the attempts they left. */
export const storeSuspectCases: Cases = [
  {
    name: 'a run that was never closed is silent to those that come after it, until it is heard, closed or cleared',
    needs: ['suspects'],
    async run({ under: { store, second }, enrolment }) {
      const [other, closed] = [await second.enroll(enrolment.facts), await second.enroll(enrolment.facts)]
      const me = await store.enroll(enrolment.facts)
      await second.closeRun(closed)
      const silent = async () => (await store.suspects!.beat(me, longMs)).map(({ runId }) => runId)
      assert.deepEqual(await silent(), [enrolment.runId, other.runId])
      await second.suspects!.beat(other, longMs)
      assert.deepEqual(await silent(), [enrolment.runId])
      await store.suspects!.clear(me, [enrolment.runId])
      assert.deepEqual(await silent(), [])
    },
  },
  {
    name: 'a run that halted is silent to those that come after it until it is cleared, and what it began is a death',
    needs: ['suspects'],
    async run({ under: { store, second }, enrolment }) {
      await store.suspects!.beginAttempt(enrolment, 'a', 3)
      await store.closeRun(enrolment, 'consumer_halted')
      const me = await second.enroll(enrolment.facts)
      const silent = async () => (await second.suspects!.beat(me, longMs)).map(({ runId }) => runId)
      assert.deepEqual(await silent(), [enrolment.runId])
      assert.deepEqual(await second.suspects!.beginAttempt(me, 'a', 3), { attempts: 1, deaths: 1 })
      await second.suspects!.clear(me, [enrolment.runId])
      assert.deepEqual(await silent(), [])
    },
  },
  {
    name: 'a run that is closed in order takes back what it began, alone and in groups',
    needs: ['suspects'],
    async run({ under, enrolment, name }) {
      const suspects = under.store.suspects!
      const other = await under.second.enroll(enrolment.facts)
      await suspects.beginAttempt(enrolment, 'a', 3)
      await suspects.beginAttempt(other, 'a', 3)
      await suspects.beginGroup(enrolment, ['b', 'c'], 2)
      await under.store.closeRun(enrolment)
      const me = await under.second.enroll(enrolment.facts)
      assert.deepEqual([...(await under.second.suspects!.groupLimits(me, ['b', 'c']))], [])
      assert.equal(await under.attempts(name, 'a'), 1, 'of the one that may be dead')
      assert.deepEqual(await under.second.suspects!.beginAttempt(me, 'a', 3), { attempts: 1, deaths: 1 })
    },
  },
  {
    name: 'a silent run reports how much it may have held, and runs of other consumers are not listed',
    needs: ['suspects'],
    async run({ under: { store }, enrolment }) {
      const { facts } = enrolment
      const stranger = await store.enroll({ ...facts, name: `${facts.name}_other` })
      assert.deepEqual(await store.suspects!.beat(stranger, longMs), [])
      const me = await store.enroll(facts)
      assert.deepEqual(await store.suspects!.beat(me, longMs), [
        { runId: enrolment.runId, deliveriesMax: facts.deliveriesMax },
      ])
    },
  },
  {
    name: 'a heartbeat records that the clock of the database was set forward, once, and no step back',
    needs: ['suspects'],
    async run({ under: { store }, enrolment }) {
      if (store.sql === undefined) return
      let clockMs = 10 * dayMs
      const clock = { nowMs: () => clockMs }
      const steps = async () => {
        const sql = `select count(*)::int as steps, (coalesce(extract(epoch from sum(moved)), 0) / 3600)::int as hours from onceward.clock_step`
        return (await store.sql!.query(sql)).rows[0] as { readonly steps: number; readonly hours: number }
      }
      const before = await steps()
      // Time that did not pass on our clock is a step of the database's clock.
      for (const movedMs of [0, dayMs, -2 * dayMs, 0]) {
        clockMs += movedMs
        await store.suspects!.beat(enrolment, longMs, clock)
        await store.suspects!.beat(enrolment, longMs, clock)
      }
      assert.deepEqual(await steps(), { steps: before.steps + 1, hours: before.hours + 48 })
    },
  },
  {
    name: 'an attempt that began is on record at once, and is gone with the transaction that decides its message',
    needs: ['suspects'],
    async run(bench) {
      const { under, enrolment, name } = bench
      const begin = () => under.store.suspects!.beginAttempt(enrolment, 'a', 3)
      assert.deepEqual(await begin(), { attempts: 0, deaths: 0 })
      assert.equal(await under.attempts(name, 'a'), 1)
      await assert.rejects(
        bench.transaction(async session => {
          await session.suspects!.withdrawAttempts(['a'])
          throw new Error('rolled back')
        }),
      )
      assert.equal(await under.attempts(name, 'a'), 1)
      await bench.transaction(async session => {
        await session.insertMarkers([claimOf('a')])
        await session.suspects!.withdrawAttempts(['a'])
      })
      assert.equal(await under.attempts(name, 'a'), 0)
    },
  },
  {
    name: 'an attempt whose answer was lost is begun again by the same run, and is neither a death nor counted twice',
    needs: ['suspects'],
    async run(bench) {
      const { under, enrolment, name } = bench
      const begin = () => under.store.suspects!.beginAttempt(enrolment, 'a', 1)
      for (let times = 0; times < 2; times++) {
        assert.deepEqual(await begin(), { attempts: 0, deaths: 0 })
        assert.equal(await under.attempts(name, 'a'), 1)
      }
      const next = await under.second.enroll(enrolment.facts)
      assert.deepEqual(await under.second.suspects!.beginAttempt(next, 'a', 3), { attempts: 1, deaths: 1 })
    },
  },
  {
    name: 'a message that a run survived is recorded again when it is redelivered, and is no crash',
    needs: ['suspects'],
    async run(bench) {
      const { under, enrolment, name } = bench
      const begin = (survived: readonly string[]) =>
        under.store.suspects!.beginAttempt(enrolment, 'a', 1, survived)
      for (const survived of [[], ['a'], ['a', 'b']]) {
        assert.deepEqual(await begin(survived), { attempts: 0, deaths: 0 })
        assert.equal(await under.attempts(name, 'a'), 1)
      }
    },
  },
  {
    name: 'attempts of runs that died are counted as deaths, are not taken back by others, and begin no more once the budget is used up',
    needs: ['suspects'],
    async run(bench) {
      const { under, enrolment, name } = bench
      for (let deaths = 0; deaths < 2; deaths++) {
        const run = await under.store.enroll(enrolment.facts)
        assert.deepEqual(await under.store.suspects!.beginAttempt(run, 'a', 2), { attempts: deaths, deaths })
      }
      const last = await under.second.enroll(enrolment.facts)
      assert.deepEqual(await under.second.suspects!.beginAttempt(last, 'a', 2), { attempts: 2, deaths: 2 })
      await under.second.transaction(last, session => session.suspects!.withdrawAttempts(['a']))
      assert.equal(await under.attempts(name, 'a'), 2)
    },
  },
  {
    name: 'a group in which a run crashed halves the next one of its members, and is no attempt of theirs',
    needs: ['suspects'],
    async run({ under, enrolment, name }) {
      const ids = ['a', 'b', 'c', 'd', 'e', 'a']
      const limits = async (of = enrolment) =>
        Object.fromEntries(await under.second.suspects!.groupLimits(of, ['a', 'e', 'stranger']))
      await under.store.suspects!.beginGroup(enrolment, ids, ids.length)
      assert.deepEqual(await limits(), {}, 'our own run has not died')
      for (const [size, most] of [
        [5, 3],
        [2, 2],
        [1, 1],
      ] as const) {
        const next = await under.second.enroll(enrolment.facts)
        assert.deepEqual(await limits(next), { a: most, e: most })
        await under.second.suspects!.beginGroup(next, ids, size)
      }
      assert.equal(await under.attempts(name, 'a'), 0)
    },
  },
  {
    name: 'a group is taken back with the transaction that decides its messages, for those it decides',
    needs: ['suspects'],
    async run(bench) {
      const { under, enrolment } = bench
      await under.store.suspects!.beginGroup(enrolment, ['a', 'b'], 2)
      const next = await under.second.enroll(enrolment.facts)
      const limits = async () => [...(await under.second.suspects!.groupLimits(next, ['a', 'b'])).keys()]
      await assert.rejects(
        bench.transaction(async session => {
          await session.suspects!.withdrawAttempts(['a', 'b'])
          throw new Error('rolled back')
        }),
      )
      assert.deepEqual((await limits()).sort(), ['a', 'b'])
      await bench.transaction(async session => {
        await session.insertMarkers([claimOf('a')])
        await session.suspects!.withdrawAttempts(['a'])
      })
      assert.deepEqual(await limits(), ['b'])
    },
  },
  {
    name: 'a group that was survived is taken back by the next one, except for who is in both',
    needs: ['suspects'],
    async run({ under, enrolment }) {
      const suspects = under.store.suspects!
      await suspects.beginGroup(enrolment, ['a', 'b'], 8)
      await suspects.beginGroup(enrolment, ['b', 'c'], 4, ['a', 'b'])
      const next = await under.second.enroll(enrolment.facts)
      const limits = async () =>
        Object.fromEntries(await under.second.suspects!.groupLimits(next, ['a', 'b', 'c']))
      assert.deepEqual(await limits(), { b: 2, c: 2 })
      await suspects.beginAttempt(enrolment, 'd', 3, ['b'])
      assert.deepEqual(await limits(), { c: 2 })
    },
  },
  {
    name: 'what died alone stays alone; a run that is closed in order leaves no group, one that is dealt with does',
    needs: ['suspects'],
    async run({ under, enrolment }) {
      const suspects = under.store.suspects!
      const [closed, cleared] = [
        await under.store.enroll(enrolment.facts),
        await under.store.enroll(enrolment.facts),
      ]
      await suspects.beginAttempt(enrolment, 'a', 3)
      await suspects.beginGroup(enrolment, ['a'], 64)
      await suspects.beginGroup(closed, ['b', 'c'], 2)
      await suspects.beginGroup(cleared, ['c', 'd'], 2)
      const next = await under.second.enroll(enrolment.facts)
      const limits = async () =>
        Object.fromEntries(await under.second.suspects!.groupLimits(next, ['a', 'b', 'c', 'd']))
      assert.deepEqual(await limits(), { a: 1, b: 1, c: 1, d: 1 })
      await under.store.closeRun(closed)
      assert.deepEqual(await limits(), { a: 1, c: 1, d: 1 })
      await under.second.suspects!.clear(next, [cleared.runId])
      assert.deepEqual(await limits(), { a: 1, c: 1, d: 1 })
    },
  },
]

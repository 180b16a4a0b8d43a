import assert from 'node:assert/strict'
import type { ConformanceCase } from './conformance-case.ts'
import type { StoreFeature } from './store.ts'
import { claimOf, type StoreBench } from './store-bench.ts'

type Cases = readonly ConformanceCase<StoreBench<unknown>, StoreFeature>[]

const longMs = 60_000

/** Runs that fell silent, and the attempts they left. Stores without a ledger of suspects pass by having none. */
export const storeSuspectCases: Cases = [
  {
    name: 'a run that was never closed is silent to those that come after it, until it is heard, closed or cleared',
    async run({ under: { store, second }, enrolment }) {
      if (store.suspects === undefined) return
      const [other, closed] = [await second.enroll(enrolment.facts), await second.enroll(enrolment.facts)]
      const me = await store.enroll(enrolment.facts)
      await second.closeRun(closed)
      const silent = async () => (await store.suspects!.beat(me, longMs)).map(({ runId }) => runId)
      assert.deepEqual(await silent(), [enrolment.runId, other.runId])
      await second.suspects!.beat(other, longMs)
      assert.deepEqual(await silent(), [enrolment.runId])
      await store.suspects.clear(me, [enrolment.runId])
      assert.deepEqual(await silent(), [])
    },
  },
  {
    name: 'a run that halted is silent to those that come after it until it is cleared, and what it began is a death',
    async run({ under: { store, second }, enrolment }) {
      if (store.suspects === undefined) return
      await store.suspects.beginAttempt(enrolment, 'a', 3)
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
    name: 'a silent run tells how much it may have held, and one of another consumer is not ours to suspect',
    async run({ under: { store }, enrolment }) {
      if (store.suspects === undefined) return
      const { facts } = enrolment
      const stranger = await store.enroll({ ...facts, name: `${facts.name}_other` })
      assert.deepEqual(await store.suspects.beat(stranger, longMs), [])
      const me = await store.enroll(facts)
      assert.deepEqual(await store.suspects.beat(me, longMs), [
        { runId: enrolment.runId, deliveriesMax: facts.deliveriesMax },
      ])
    },
  },
  {
    name: 'an attempt that began is on record at once, and is gone with the transaction that decides its message',
    async run(bench) {
      const { under, enrolment, name } = bench
      if (under.store.suspects === undefined) return
      const begin = () => under.store.suspects!.beginAttempt(enrolment, 'a', 3)
      assert.deepEqual(await begin(), { attempts: 0, deaths: 0 })
      assert.equal(await under.attempts(name, 'a'), 1)
      await assert.rejects(
        bench.transaction(async session => {
          await session.withdrawAttempts!(['a'])
          throw new Error('rolled back')
        }),
      )
      assert.equal(await under.attempts(name, 'a'), 1)
      await bench.transaction(async session => {
        await session.claim([claimOf('a')])
        await session.withdrawAttempts!(['a'])
      })
      assert.equal(await under.attempts(name, 'a'), 0)
    },
  },
  {
    name: 'an attempt whose answer was lost is begun again by the same run, and is neither a death nor counted twice',
    async run(bench) {
      const { under, enrolment, name } = bench
      if (under.store.suspects === undefined) return
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
    name: 'what a run came through with is on record again when it comes once more, and is no death',
    async run(bench) {
      const { under, enrolment, name } = bench
      if (under.store.suspects === undefined) return
      const begin = (survived?: string) => under.store.suspects!.beginAttempt(enrolment, 'a', 1, survived)
      for (const survived of [undefined, 'a', 'a']) {
        assert.deepEqual(await begin(survived), { attempts: 0, deaths: 0 })
        assert.equal(await under.attempts(name, 'a'), 1)
      }
    },
  },
  {
    name: 'attempts of runs that died are counted as deaths, are not taken back by others, and begin no more once the budget is used up',
    async run(bench) {
      const { under, enrolment, name } = bench
      if (under.store.suspects === undefined) return
      for (let deaths = 0; deaths < 2; deaths++) {
        const run = await under.store.enroll(enrolment.facts)
        assert.deepEqual(await under.store.suspects.beginAttempt(run, 'a', 2), { attempts: deaths, deaths })
      }
      const last = await under.second.enroll(enrolment.facts)
      assert.deepEqual(await under.second.suspects!.beginAttempt(last, 'a', 2), { attempts: 2, deaths: 2 })
      await under.second.transaction(last, session => session.withdrawAttempts!(['a']))
      assert.equal(await under.attempts(name, 'a'), 2)
    },
  },
]

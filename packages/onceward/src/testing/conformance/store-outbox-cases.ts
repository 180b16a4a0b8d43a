import assert from 'node:assert/strict'
import type { ConformanceCase } from './conformance-case.ts'
import type { StoreFeature } from './store.ts'
import { outgoingOf, type StoreBench } from './store-bench.ts'

type Cases = readonly ConformanceCase<StoreBench<unknown>, StoreFeature>[]

/** Messages to be published after the commit. */
export const storeOutboxCases: Cases = [
  {
    name: 'messages wait in the outbox in the order in which they were written',
    needs: ['outgoing'],
    async run(bench) {
      const queue = `${bench.name}.out`
      const given = ['b', 'a', 'c'].map(id => ({ ...outgoingOf(id), queue }))
      await bench.transaction(s => s.outgoing!.publish(given))
      await bench.transaction(s => s.outgoing!.publish([{ ...outgoingOf('a', null), queue }]))
      assert.deepEqual(await bench.under.outbox!(queue), ['b', 'a', 'c', 'a'])
    },
  },
  {
    name: 'a rollback removes the messages of its transaction',
    needs: ['outgoing'],
    async run(bench) {
      const queue = `${bench.name}.out`
      const failing = bench.transaction(async session => {
        await session.outgoing!.publish([{ ...outgoingOf('a'), queue }])
        throw new Error('on purpose')
      })
      await assert.rejects(failing, /on purpose/)
      assert.deepEqual(await bench.under.outbox!(queue), [])
    },
  },
]

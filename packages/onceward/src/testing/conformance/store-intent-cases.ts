import assert from 'node:assert/strict'
import type { ConformanceCase } from './conformance-case.ts'
import type { StoreFeature } from './store.ts'
import { factsOf, intentOf, type StoreBench } from './store-bench.ts'

type Cases = readonly ConformanceCase<StoreBench<unknown>, StoreFeature>[]

/** Intents of external effects. */
export const storeIntentCases: Cases = [
  {
    name: 'an intent is recorded once; the same bytes are suppressed, other bytes are a conflict',
    needs: ['outgoing'],
    async run(bench) {
      assert.deepEqual(await bench.transaction(s => s.outgoing!.request([intentOf('k')])), ['recorded'])
      assert.deepEqual(await bench.transaction(s => s.outgoing!.request([intentOf('k')])), [
        'suppressed duplicate',
      ])
      assert.deepEqual(await bench.transaction(s => s.outgoing!.request([intentOf('k', 'other')])), [
        'conflict',
      ])
      const intents = await bench.under.intents!(bench.name)
      assert.deepEqual(
        intents.map(({ target, key, body }) => [target, key, body.toString()]),
        [['gateway', 'k', 'k']],
      )
    },
  },
  {
    name: 'intents are answered in the order they were asked for',
    needs: ['outgoing'],
    async run(bench) {
      await bench.transaction(s => s.outgoing!.request([intentOf('b'), intentOf('d')]))
      const asked = [intentOf('e'), intentOf('d', 'other'), intentOf('a'), intentOf('b')]
      const answers = await bench.transaction(s => s.outgoing!.request(asked))
      assert.deepEqual(answers, ['recorded', 'conflict', 'recorded', 'suppressed duplicate'])
    },
  },
  {
    name: 'intents vanish with their transaction',
    needs: ['outgoing'],
    async run(bench) {
      const failing = bench.transaction(async session => {
        await session.outgoing!.request([intentOf('k')])
        throw new Error('on purpose')
      })
      await assert.rejects(failing, /on purpose/)
      assert.deepEqual(await bench.under.intents!(bench.name), [])
      assert.deepEqual(await bench.transaction(s => s.outgoing!.request([intentOf('k')])), ['recorded'])
    },
  },
  {
    name: 'a new generation of a consumer does not request the same external effect again',
    needs: ['outgoing'],
    async run(bench) {
      await bench.transaction(s => s.outgoing!.request([intentOf('k')]))
      const rebuilt = await bench.under.store.enroll(factsOf(bench.name, { generation: 2 }))
      const answers = await bench.under.store.transaction(rebuilt, s => s.outgoing!.request([intentOf('k')]))
      assert.deepEqual(answers, ['suppressed duplicate'])
    },
  },
]

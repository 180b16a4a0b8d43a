import assert from 'node:assert/strict'
import { park, retryAfter } from '../../engine/batch/verdicts.ts'
import { until } from '../until.ts'
import type { ConformanceCase } from './conformance-case.ts'
import type { DeliveryFeature } from './delivery.ts'
import {
  type DeliveryBench,
  idsOf,
  type Job,
  type JobContext,
  type JobContract,
  jobs,
} from './delivery-bench.ts'

type Cases = readonly ConformanceCase<DeliveryBench<unknown>, DeliveryFeature>[]

const failure = { mode: 'defer', attemptsMax: 1_000, delayMs: 1, delayMaxMs: 20 } as const
const byKey: Partial<JobContract> = {
  order: 'key',
  identity: { id: job => job.id, orderKey: job => job.key },
  batch: { sizeMax: 7, deliveriesMax: 50 },
}
const inOrder: readonly DeliveryFeature[] = ['key order', 'message key', 'held work']

/** A failing message is kept in the store and acknowledged at the source: no other message waits for it. */
export const deliveryDeferCases: Cases = [
  {
    name: 'a deferred message is acknowledged at once, stored, and applied once when it is due',
    needs: ['held work'],
    async run(bench) {
      const list = jobs(20)
      let open = false
      await bench.publish(...list)
      await bench.start({
        failure,
        async handle({ message, tx }: JobContext) {
          if (message.id === 'm3' && !open) return retryAfter(20)
          return bench.apply(tx, message.id)
        },
      })
      await until('all others are applied', async () => (await bench.applied()).length === 19)
      await bench.expectRemaining(0)
      await until('it is kept', async () => (await bench.marker('m3')) === 'stored')
      open = true
      await untilApplied(bench, 20)
      assert.deepEqual((await bench.applied()).sort(), idsOf(list).sort())
      assert.equal(await bench.marker('m3'), 'applied')
      assert.deepEqual(await bench.held(), [])
      await bench.drain()
    },
  },
  {
    name: 'later messages of its key wait behind a deferred one, those of other keys do not',
    needs: inOrder,
    async run(bench) {
      const list = jobs(40, index => ({ key: `k${index % 4}` }))
      let open = false
      await bench.publish(...list.slice(0, 20))
      await bench.start({
        ...byKey,
        failure,
        async handle({ message, tx }: JobContext) {
          if (message.id === 'm4' && !open) throw new Error('not yet')
          return bench.apply(tx, message.id)
        },
      })
      const free = (job: Job) => job.key !== 'k0'
      await untilApplied(bench, 1 + list.slice(0, 20).filter(free).length)
      await bench.publish(...list.slice(20))
      await untilApplied(bench, 1 + list.filter(free).length)
      await bench.expectRemaining(0)
      await until('all behind it are held', async () => (await bench.held()).length === 9)
      open = true
      await untilApplied(bench, 40)
      await expectOrder(bench, list)
      await bench.drain()
    },
  },
  ...(['by a verdict', 'before it wrote', 'after it wrote'] as const).map(how => ({
    name: `order per key survives random failures (${how})`,
    needs: inOrder,
    async run(bench: DeliveryBench<unknown>) {
      const list = jobs(90, index => ({ key: `k${index % 9}` }))
      const left = new Map(list.map(({ id }, index) => [id, (index * 7) % 5 === 0 ? 1 + (index % 3) : 0]))
      await bench.publish(...list.slice(0, 54))
      await bench.start({
        ...byKey,
        failure,
        async handle({ message, tx }: JobContext) {
          const failures = left.get(message.id)!
          if (failures === 0) return bench.apply(tx, message.id)
          left.set(message.id, failures - 1)
          if (how === 'by a verdict') return retryAfter(2)
          if (how === 'after it wrote') await bench.apply(tx, message.id)
          throw new Error('not yet')
        },
      })
      await bench.publish(...list.slice(54))
      await untilApplied(bench, list.length)
      await expectOrder(bench, list)
      assert.deepEqual(await bench.held(), [])
      await bench.expectRemaining(0)
      await bench.drain()
    },
  })),
  {
    name: 'a deferred message whose attempts are used up is parked, with its key behind it in order',
    needs: inOrder,
    async run(bench) {
      const list = jobs(12, index => ({ key: `k${index % 2}` }))
      await bench.publish(...list)
      await bench.start({
        ...byKey,
        failure: { ...failure, attemptsMax: 3 },
        async handle({ message, tx }: JobContext) {
          if (message.id === 'm2') throw new Error('never')
          return bench.apply(tx, message.id)
        },
      })
      await until('it is parked', async () => (await bench.marker('m2')) === 'parked')
      await until('all behind it are held', async () => (await bench.held()).length === 5)
      assert.equal(await bench.attempts('m2'), 3)
      await bench.publish({ id: 'late', key: 'k0' }, { id: 'other', key: 'k1' })
      await untilApplied(bench, 8)
      await until('the late one is behind it', async () => (await bench.held()).length === 6)
      assert.equal(await bench.marker('late'), 'parked')
      assert.equal(await bench.marker('other'), 'applied')
      await expectOrder(bench, [
        list[0]!,
        ...list.filter(({ key }) => key === 'k1'),
        { id: 'other', key: 'k1' },
      ])
      await bench.drain()
    },
  },
  {
    name: 'a copy of a deferred message is already held, also inside its own batch',
    needs: ['held work'],
    async run(bench) {
      let open = false
      await bench.publish({ id: 'a' }, { id: 'a' }, { id: 'b' })
      await bench.start({
        failure,
        async handle({ message, tx }: JobContext) {
          if (message.id === 'a' && !open) return retryAfter(10)
          return bench.apply(tx, message.id)
        },
      })
      await untilApplied(bench, 1)
      await bench.publish({ id: 'a' }, { id: 'a' }, { id: 'a' })
      await until('the copies are held', () => (bench.outcomes['already held'] ?? 0) === 4)
      open = true
      await untilApplied(bench, 2)
      await bench.publish({ id: 'a' })
      await until('the copy is a duplicate', () => (bench.outcomes.duplicate ?? 0) === 1)
      assert.deepEqual(await bench.applied(), ['b', 'a'])
      await bench.drain()
    },
  },
  {
    name: 'verdicts of a deferred message have the same outcomes as at its first attempt',
    needs: ['held work'],
    async run(bench) {
      const calls = new Map<string, number>()
      await bench.publish({ id: 'parks' }, { id: 'passes' })
      await bench.start({
        failure,
        async handle({ message, tx }: JobContext) {
          const call = (calls.get(message.id) ?? 0) + 1
          calls.set(message.id, call)
          if (call < 3) return retryAfter(1)
          return message.id === 'parks' ? park('ask an operator') : bench.apply(tx, message.id)
        },
      })
      await untilApplied(bench, 1)
      await until('the other is parked', async () => (await bench.marker('parks')) === 'parked')
      assert.equal(await bench.attempts('passes'), 2)
      assert.equal(await bench.marker('passes'), 'applied')
      await bench.drain()
    },
  },
  {
    name: 'another process leases a deferred message when its own process has ended',
    needs: ['held work', 'concurrent transactions'],
    async run(bench) {
      await bench.publish({ id: 'a' })
      const first = await bench.start({ failure, handle: () => retryAfter(1) })
      await until('it is deferred', () => (first.tally.outcomes.deferred ?? 0) === 1)
      await bench.drain()
      await bench.start({ failure }, { another: true })
      await untilApplied(bench, 1)
      assert.equal(await bench.marker('a'), 'applied')
      await bench.drain()
    },
  },
]

async function untilApplied(bench: DeliveryBench<unknown>, count: number): Promise<void> {
  await until(`${count} are applied`, async () => (await bench.applied()).length >= count)
}

async function expectOrder(bench: DeliveryBench<unknown>, list: readonly Job[]): Promise<void> {
  const keyOf = new Map(list.map(({ id, key }) => [id, key]))
  const applied = Map.groupBy(await bench.applied(), id => keyOf.get(id))
  const expected = Map.groupBy(idsOf(list), id => keyOf.get(id))
  for (const [key, ids] of expected) assert.deepEqual(applied.get(key), ids, `order of ${key}`)
}

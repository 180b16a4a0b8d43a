import assert from 'node:assert/strict'
import { ignore, park, retryAfter, type Verdict } from '../../engine/batch/verdicts.ts'
import type { ConformanceCase } from './conformance-case.ts'
import type { DeliveryFeature } from './delivery.ts'
import {
  type DeliveryBench,
  idsOf,
  type Job,
  type JobBatch,
  type JobContext,
  type JobContract,
  jobs,
} from './delivery-bench.ts'

type Cases = readonly ConformanceCase<DeliveryBench<unknown>, DeliveryFeature>[]

const ordered: Partial<JobContract> = {
  order: 'key',
  identity: { id: job => job.id, orderKey: job => job.key },
  batch: { sizeMax: 7, deliveriesMax: 50 },
}
const needs: readonly DeliveryFeature[] = ['key order', 'message key']
const keyed = (count: number, keys: number) => jobs(count, index => ({ key: `k${index % keys}` }))

/** Effects of a key have the order of publishing. */
export const deliveryOrderCases: Cases = [
  {
    name: 'messages of one key are applied in order, also when some are retried',
    needs,
    async run(bench) {
      const list = keyed(60, 5)
      const failing = failuresOf(list, index => (index * 7) % 4)
      await bench.publish(...list)
      await bench.start({
        ...ordered,
        failure: { attemptsMax: 10, delayMs: 1, delayMaxMs: 3 },
        handle: failing(bench),
      })
      await bench.finish(60)
      await expectOrder(bench, list)
    },
  },
  {
    name: 'two processes together keep the order of every key',
    needs: [...needs, 'key order across subscriptions'],
    async run(bench) {
      const list = keyed(60, 5)
      const failing = failuresOf(list, index => (index % 11 === 0 ? 1 : 0))
      const contract = {
        ...ordered,
        failure: { attemptsMax: 10, delayMs: 1, delayMaxMs: 3 },
        handle: failing(bench),
      }
      await bench.start(contract)
      await bench.start(contract, { another: true })
      await bench.publish(...list)
      await bench.finish(60)
      await expectOrder(bench, list)
    },
  },
  {
    name: 'a batch handler that requests a retry of one message keeps the order of its key',
    needs,
    async run(bench) {
      const list = keyed(40, 4)
      const due = new Set(['m5', 'm10', 'm20'])
      await bench.publish(...list)
      await bench.start({
        ...ordered,
        async handleBatch({ batch, tx }: JobBatch) {
          const verdicts = new Map<(typeof batch)[number], Verdict>()
          for (const item of batch) {
            if (due.delete(item.message.id)) verdicts.set(item, retryAfter(1))
            else await bench.apply(tx, item.message.id)
          }
          return verdicts
        },
      })
      await bench.finish(40)
      await expectOrder(bench, list)
    },
  },
  {
    name: 'messages before a failing message of their key are applied, later ones are parked behind it',
    needs,
    async run(bench) {
      const list = [
        ...jobs(6, () => ({ key: 'stuck' })),
        ...jobs(6, index => ({ id: `f${index}`, key: 'free' })),
      ]
      await bench.publish(...list)
      await bench.start({
        ...ordered,
        batch: { sizeMax: 50 },
        async handle({ message, tx }: JobContext) {
          await bench.apply(tx, message.id)
          if (message.id === 'm3') throw new Error('never')
        },
      })
      await bench.finish(12)
      const applied = await bench.applied()
      assert.deepEqual(
        applied.filter(id => id.startsWith('m')),
        ['m0', 'm1', 'm2'],
      )
      assert.deepEqual(
        applied.filter(id => id.startsWith('f')),
        ['f0', 'f1', 'f2', 'f3', 'f4', 'f5'],
      )
      assert.deepEqual(
        (await bench.held()).map(({ id, code }) => [id, code]),
        [
          ['m3', 'Error'],
          ['m4', 'behind_parked'],
          ['m5', 'behind_parked'],
        ],
      )
    },
  },
  {
    name: 'a message that waits for its business key keeps later messages of its order key behind it',
    needs,
    async run(bench) {
      await bench.publish(
        { id: 'm1', key: 'k', note: 'X' },
        { id: 'm2', key: 'k', note: 'X' },
        { id: 'm3', key: 'k', note: 'Y' },
      )
      await bench.start({
        ...ordered,
        identity: {
          id: (job: Job) => job.id,
          orderKey: (job: Job) => job.key,
          businessKey: (job: Job) => job.note,
        },
        handle: ({ message, tx }: JobContext) =>
          message.id === 'm1' ? ignore('not this one') : bench.apply(tx, message.id),
      })
      await bench.finish(3)
      assert.deepEqual(await bench.applied(), ['m2', 'm3'])
    },
  },
  {
    name: 'a source that orders by its own key quarantines messages with another order key; the others continue',
    needs,
    async run(bench) {
      const published = (id: string, key: string | null) => ({
        body: Buffer.from(JSON.stringify({ id, key: 'k' })),
        key,
        // A log would put another key elsewhere, and promises no order across its partitions.
        partition: 0,
      })
      await bench.publishRaw(published('m0', 'k'), published('m1', 'other'), published('m2', 'k'))
      await bench.start(ordered)
      await bench.finish(3)
      const { ordersByDeliveryKey = false } = bench.queue.source.capabilities
      assert.deepEqual(await bench.applied(), ordersByDeliveryKey ? ['m0', 'm2'] : ['m0', 'm1', 'm2'])
      assert.deepEqual(
        (await bench.held()).map(({ id, state, code }) => ({ id, state, code })),
        ordersByDeliveryKey ? [{ id: 'm1', state: 'quarantined', code: 'order_key_malformed' }] : [],
      )
    },
  },
  {
    name: 'a parked message blocks later messages of its key, and other keys continue',
    needs,
    async run(bench) {
      await bench.start({
        ...ordered,
        handle: ({ message, tx }: JobContext) =>
          message.id === 'm0' ? park('not now') : bench.apply(tx, message.id),
      })
      await bench.publish({ id: 'm0', key: 'a' })
      await bench.untilEnded(1)
      await bench.publish({ id: 'm1', key: 'a' }, { id: 'm2', key: 'b' }, { id: 'm3', key: 'a' })
      await bench.finish(4)
      assert.deepEqual(await bench.applied(), ['m2'])
      assert.deepEqual(
        (await bench.held()).map(({ id }) => id),
        ['m0', 'm1', 'm3'],
      )
    },
  },
]

/** A handler that fails each message a given number of times, after its write. */
function failuresOf(list: readonly Job[], times: (index: number) => number) {
  const left = new Map(list.map((job, index) => [job.id, times(index)]))
  return (bench: DeliveryBench<unknown>) =>
    async ({ message, tx }: JobContext) => {
      await bench.apply(tx, message.id)
      const failures = left.get(message.id)!
      left.set(message.id, failures - 1)
      if (failures > 0) throw new Error('not yet')
    }
}

async function expectOrder(bench: DeliveryBench<unknown>, list: readonly Job[]): Promise<void> {
  const applied = await bench.applied()
  assert.equal(applied.length, list.length)
  const keyOf = new Map(list.map(job => [job.id, job.key]))
  for (const key of new Set(list.map(job => job.key))) {
    const mine = idsOf(list.filter(job => job.key === key))
    assert.deepEqual(
      applied.filter(id => keyOf.get(id) === key),
      mine,
      `order of key ${key}`,
    )
  }
}

import assert from 'node:assert/strict'
import type { ConformanceCase } from './conformance-case.ts'
import type { DeliveryFeature } from './delivery.ts'
import {
  type DeliveryBench,
  idsOf,
  type Job,
  type JobBatch,
  type JobContext,
  jobs,
} from './delivery-bench.ts'

type Cases = readonly ConformanceCase<DeliveryBench<unknown>, DeliveryFeature>[]

const batchForm = (bench: DeliveryBench<unknown>) => ({
  handleBatch: async ({ batch, tx }: JobBatch) => {
    for (const { message } of batch) await bench.apply(tx, message.id)
  },
})

const original: Job = { id: 'same', note: 'one' }
const altered: Job = { id: 'same', note: 'two' }

/** A message may arrive many times. */
export const deliveryDuplicateCases: Cases = [
  {
    name: 'every message is applied once and settled',
    async run(bench) {
      const list = jobs(200)
      await bench.start()
      await bench.publish(...list)
      await bench.finish(200)
      assert.deepEqual((await bench.applied()).sort(), idsOf(list).sort())
      assert.equal(await bench.marker('m199'), 'applied')
    },
  },
  {
    name: 'a message published again later has no second effect',
    async run(bench) {
      await bench.start()
      for (let time = 1; time <= 4; time++) {
        await bench.publish({ id: 'a' })
        await bench.untilEnded(time)
      }
      await bench.finish(4)
      assert.deepEqual(await bench.applied(), ['a'])
      assert.deepEqual(bench.ended, { applied: 1, duplicate: 3 })
    },
  },
  {
    name: 'a copy in one batch with a conflict of its id is still a duplicate',
    async run(bench) {
      const first = await bench.start()
      await bench.publish(original)
      await bench.untilEnded(1)
      await first.drain()
      await bench.publish(altered, original, original)
      await bench.start()
      await bench.finish(4)
      assert.deepEqual(bench.ended, { applied: 1, duplicate: 2, quarantined: 1 })
    },
  },
  ...(['per message', 'per batch'] as const).map(form => ({
    name: `copies inside one batch have one effect (handler ${form})`,
    async run(bench: DeliveryBench<unknown>) {
      await bench.publish(...[0, 1, 2].flatMap(() => jobs(10)))
      await bench.start(form === 'per batch' ? batchForm(bench) : {})
      await bench.finish(30)
      assert.deepEqual((await bench.applied()).sort(), idsOf(jobs(10)).sort())
      assert.deepEqual(bench.ended, { applied: 10, duplicate: 20 })
    },
  })),
  ...[
    { order: 'one, then two', messages: [original, altered] },
    { order: 'two, then one', messages: [altered, original] },
  ].flatMap(({ order, messages }) => [
    {
      name: `the same id with other bytes later is quarantined with its bytes (${order})`,
      async run(bench: DeliveryBench<unknown>) {
        await bench.start()
        await bench.publish(messages[0]!)
        await bench.untilEnded(1)
        await bench.publish(messages[1]!)
        await bench.finish(2)
        await expectConflict(bench, messages[1]!)
      },
    },
    {
      name: `the same id with other bytes inside one batch is quarantined with its bytes (${order})`,
      async run(bench: DeliveryBench<unknown>) {
        await bench.publish(...messages)
        await bench.start()
        await bench.finish(2)
        await expectConflict(bench, messages[1]!)
      },
    },
  ]),
  {
    name: 'twenty copies at once over three processes have one effect',
    async run(bench) {
      const slow = { handle: ({ message, tx }: JobContext) => applySlowly(bench, message, tx) }
      for (const another of [false, true, true]) {
        await bench.start({ ...slow, batch: { sizeMax: 2, deliveriesMax: 4 } }, { another })
      }
      await bench.publish(...Array.from({ length: 20 }, () => ({ id: 'a' })))
      await bench.finish(20)
      assert.deepEqual(await bench.applied(), ['a'])
      bench.expectEnded({ applied: 1, duplicate: 19 })
    },
  },
  {
    name: 'conflicting copies at once over three processes: one is applied, the others are held',
    async run(bench) {
      for (const another of [false, true, true]) {
        await bench.start({ batch: { sizeMax: 1, deliveriesMax: 3 } }, { another })
      }
      await bench.publish(...Array.from({ length: 9 }, (_, index) => ({ id: 'a', note: `content ${index}` })))
      await bench.finish(9)
      assert.deepEqual(await bench.applied(), ['a'])
      assert.equal(bench.ended.applied, 1)
      assert.ok(bench.queue.source.capabilities.positions || bench.ended.quarantined === 8)
      assert.equal((await bench.held()).length, 8)
    },
  },
  {
    name: 'one business key has one effect, under any message ids',
    needs: ['business keys'],
    async run(bench) {
      await bench.publish(
        { id: 'a', business: 'order-1' },
        { id: 'b', business: 'order-1' },
        { id: 'c', business: 'order-2' },
      )
      await bench.start({ identity: { id: job => job.id, businessKey: job => job.business } })
      await bench.untilEnded(3)
      await bench.publish({ id: 'd', business: 'order-1' })
      await bench.finish(4)
      assert.deepEqual((await bench.applied()).sort(), ['a', 'c'])
      assert.equal(await bench.marker('b'), 'duplicate')
      assert.equal(await bench.marker('d'), 'duplicate')
    },
  },
  {
    name: 'copies of a message whose business key was used are also duplicates',
    needs: ['business keys'],
    async run(bench) {
      const [first, second] = [
        { id: 'a', business: 'k' },
        { id: 'b', business: 'k' },
      ]
      await bench.publish(first, second, second, first)
      await bench.start({ identity: { id: job => job.id, businessKey: job => job.business } })
      await bench.finish(4)
      assert.deepEqual(await bench.applied(), ['a'])
      assert.deepEqual(bench.ended, { applied: 1, duplicate: 3 })
    },
  },
  ...(['inside one batch', 'one after the other'] as const).map(how => ({
    name: `a conflict over a business key is quarantined and leaves the key to its holder (${how})`,
    needs: ['business keys'] as const,
    async run(bench: DeliveryBench<unknown>) {
      const identity = {
        id: (job: Job) => job.id,
        businessKey: (job: Job) => job.business,
        businessDigest: (job: Job) => job.note,
      }
      const list: Job[] = [
        { id: 'a', business: 'k', note: 'pay 5' },
        { id: 'b', business: 'k', note: 'pay 6' },
        { id: 'c', business: 'k', note: 'pay 5' },
      ]
      if (how === 'inside one batch') await bench.publish(...list)
      await bench.start({ identity })
      if (how === 'one after the other') await publishOneByOne(bench, list)
      await bench.untilEnded(3)
      await bench.publish({ id: 'd', business: 'k', note: 'pay 5' })
      await bench.finish(4)
      assert.deepEqual(await bench.applied(), ['a'])
      assert.deepEqual(
        (await bench.held()).map(({ id, state }) => [id, state]),
        [['b', 'quarantined']],
      )
      assert.equal(await bench.under.businessKey!(bench.name, 'k'), 'a')
    },
  })),
]

async function applySlowly(bench: DeliveryBench<unknown>, job: Job, tx: unknown): Promise<void> {
  await bench.apply(tx, job.id)
  await new Promise(resolve => setImmediate(resolve))
}

async function publishOneByOne(bench: DeliveryBench<unknown>, list: readonly Job[]): Promise<void> {
  for (const [index, job] of list.entries()) {
    await bench.publish(job)
    await bench.untilEnded(index + 1)
  }
}

async function expectConflict(bench: DeliveryBench<unknown>, second: Job): Promise<void> {
  assert.deepEqual(await bench.applied(), ['same'])
  assert.equal(await bench.marker('same'), 'applied')
  const rows = await bench.held()
  assert.equal(rows.length, 1)
  assert.deepEqual([rows[0]!.id, rows[0]!.state, rows[0]!.code], ['same', 'quarantined', 'conflict'])
  assert.equal(rows[0]!.body.toString(), JSON.stringify(second))
}

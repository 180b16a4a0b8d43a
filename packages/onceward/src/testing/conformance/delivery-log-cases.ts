import assert from 'node:assert/strict'
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
import { gate } from './store-bench.ts'

type Cases = readonly ConformanceCase<DeliveryBench<unknown>, DeliveryFeature>[]

const patient = { attemptsMax: 10, delayMs: 1, delayMaxMs: 3 }
const byPartition: Partial<JobContract> = { order: 'partition', batch: { sizeMax: 7, deliveriesMax: 50 } }
const positionAlone: Partial<JobContract> = { ...byPartition, dedup: 'checkpoint' }
const named = (prefix: string, count: number): Job[] => jobs(count, index => ({ id: `${prefix}${index}` }))

/** Logs: the order of partitions, and every combination of dedup and settling. */
export const deliveryLogCases: Cases = [
  {
    name: 'records of a partition are applied in order, also when some are retried',
    needs: ['positions', 'several partitions'],
    async run(bench) {
      const lists = [named('a', 60), named('b', 60)]
      for (const [partition, list] of lists.entries()) await bench.publishTo(partition, ...list)
      await bench.start({ ...byPartition, failure: patient, handle: failsSometimes(bench) })
      await bench.finish(120)
      await expectOrder(bench, lists)
    },
  },
  {
    name: 'two processes share the partitions, keep their order and repeat nothing',
    needs: ['positions', 'several partitions', 'shared partitions'],
    async run(bench) {
      const lists = [named('a', 80), named('b', 80)]
      const contract = { ...byPartition, failure: patient, handle: failsSometimes(bench) }
      await bench.start(contract)
      for (const [partition, list] of lists.entries()) await bench.publishTo(partition, ...list.slice(0, 40))
      await until('some are applied', async () => (await bench.applied()).length > 10)
      await bench.start(contract, { another: true })
      for (const [partition, list] of lists.entries()) await bench.publishTo(partition, ...list.slice(40))
      await until('all are applied', async () => (await bench.applied()).length >= 160)
      await bench.expectRemaining(0)
      await bench.drain()
      await expectOrder(bench, lists)
    },
  },
  {
    name: 'a partition that stops before a failing record leaves the others flowing, and waits there',
    needs: ['positions', 'several partitions'],
    async run(bench) {
      await bench.publishTo(0, ...named('a', 10))
      await bench.publishTo(1, ...named('b', 50))
      await bench.start({
        ...byPartition,
        failure: { attemptsMax: 2, delayMs: 1, delayMaxMs: 2, exhausted: 'stop' },
        async handle({ message, tx }: JobContext) {
          await bench.apply(tx, message.id)
          if (message.id === 'a3') throw new Error('never')
        },
      })
      await until('the other partition is through', async () => (await bench.applied()).length === 53)
      await until('it has been tried often', async () => (await bench.attempts('a3')) > 3)
      await bench.drain()
      await bench.expectRemaining(7)
      assert.deepEqual(await bench.held(), [])
      await bench.start({ ...byPartition }, { another: true })
      await bench.untilEnded(60)
      await bench.drain()
      await bench.expectRemaining(0)
      await expectOrder(bench, [named('a', 10), named('b', 50)])
    },
  },
  {
    name: 'no position passes a record whose effect is not committed, seen while it runs',
    needs: ['positions'],
    async run(bench) {
      const [began, finish] = [gate(), gate()]
      await bench.publishTo(0, ...named('m', 40))
      await bench.start({
        batch: { sizeMax: 5, deliveriesMax: 100 },
        async handle({ message, tx }: JobContext) {
          if (message.id === 'm12') {
            began.open()
            await finish.opened
          }
          await bench.apply(tx, message.id)
        },
      })
      await began.opened
      const [partition] = bench.queue.partitions!
      const left = async () => bench.queue.countFrom!(partition!, await bench.position(partition!))
      for (let look = 0; look < 20; look++) assert.ok((await left()) >= 28, `${await left()} left`)
      finish.open()
      await bench.finish(40)
    },
  },
  {
    name: 'with the position as the only memory, processes that come and go repeat and lose nothing',
    needs: ['positions'],
    async run(bench) {
      for (let round = 0; round < 6; round++) {
        await bench.publishTo(0, ...named(`${round}-`, 40))
        const one = await bench.start(positionAlone, { another: round % 2 === 1 })
        await until('it has done something', () => (one.tally.outcomes.applied ?? 0) >= 5)
        if (round % 2 === 0) one.leave()
        else await one.drain()
        await one.finished
      }
      await bench.start(positionAlone)
      await until('all are applied', async () => (await bench.applied()).length >= 240)
      await bench.drain()
      const expected = [0, 1, 2, 3, 4, 5].flatMap(round => idsOf(named(`${round}-`, 40)))
      assert.deepEqual(await bench.applied(), expected)
      assert.equal(await bench.marker('0-0'), null)
    },
  },
  {
    name: 'a position written with the effect is where the next process begins, to the record',
    needs: ['positions'],
    async run(bench) {
      const contract: Partial<JobContract> = { ...byPartition, settle: { when: 'with effect' } }
      await bench.publishTo(0, ...named('m', 30))
      await bench.start(contract)
      await bench.untilEnded(30)
      await bench.drain()
      const stored = await bench.under.position!(bench.name, bench.queue.partitions![0]!)
      assert.equal(await bench.queue.countFrom!(bench.queue.partitions![0]!, stored!.next), 0)
      await bench.queue.forgetPositions?.()
      await bench.publishTo(0, { id: 'later' })
      const second = await bench.start(contract, { another: true })
      await bench.untilEnded(31)
      await bench.drain()
      assert.equal(second.tally.delivered, 1)
      assert.deepEqual(await bench.applied(), [...idsOf(named('m', 30)), 'later'])
    },
  },
  {
    name: 'committed before the effect, records in flight are lost and nothing is repeated',
    needs: ['positions'],
    async run(bench) {
      const began = gate()
      const atMostOnce: Partial<JobContract> = {
        settle: { when: 'before effect', lossAcceptable: 'a case of the suite' },
        failure: { attemptsMax: 1 },
      }
      await bench.publishTo(0, { id: 'lost' })
      const one = await bench.start({
        ...atMostOnce,
        async handle() {
          began.open()
          await new Promise<void>(() => {})
        },
      })
      await began.opened
      await bench.expectRemaining(0)
      one.leave()
      await one.finished
      await bench.publishTo(0, { id: 'next' })
      await bench.start(atMostOnce, { another: true })
      await bench.finish(1)
      assert.deepEqual(await bench.applied(), ['next'])
    },
  },
  {
    name: 'identified by its position, a record read again is one message, and the same bytes twice are two',
    needs: ['positions'],
    async run(bench) {
      const contract: Partial<JobContract> = { identity: { id: 'position' } }
      const [began, stuck] = [gate(), gate()]
      await bench.publishTo(0, { id: 'same' }, { id: 'same' }, { id: 'stuck' })
      const one = await bench.start({
        ...contract,
        batch: { sizeMax: 1 },
        async handle({ message, tx }: JobContext) {
          if (message.id === 'stuck') {
            began.open()
            await stuck.opened
          }
          await bench.apply(tx, message.id)
        },
      })
      await began.opened
      await until('the others are applied', async () => (await bench.applied()).length === 2)
      one.leave()
      await one.finished
      await bench.start(contract, { another: true })
      await until('all are applied', async () => (await bench.applied()).length >= 3)
      await bench.drain()
      assert.deepEqual((await bench.applied()).sort(), ['same', 'same', 'stuck'])
      await bench.expectRemaining(0)
    },
  },
]

/** Fails some records once or twice, after their write. */
function failsSometimes(bench: DeliveryBench<unknown>) {
  const failures = new Map<string, number>()
  return async ({ message, tx }: JobContext) => {
    await bench.apply(tx, message.id)
    const earlier = failures.get(message.id) ?? 0
    failures.set(message.id, earlier + 1)
    if (earlier < Number(message.id.slice(1)) % 3) throw new Error('not yet')
  }
}

async function expectOrder(bench: DeliveryBench<unknown>, lists: readonly (readonly Job[])[]): Promise<void> {
  const applied = await bench.applied()
  assert.equal(applied.length, lists.flat().length)
  for (const list of lists) {
    const mine = new Set(idsOf(list))
    assert.deepEqual(
      applied.filter(id => mine.has(id)),
      idsOf(list),
    )
  }
}

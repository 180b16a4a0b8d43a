import assert from 'node:assert/strict'
import { until } from '../until.ts'
import type { ConformanceCase } from './conformance-case.ts'
import type { DeliveryFeature } from './delivery.ts'
import { type DeliveryBench, idsOf, type JobContext, jobs } from './delivery-bench.ts'
import { gate } from './store-bench.ts'

type Cases = readonly ConformanceCase<DeliveryBench<unknown>, DeliveryFeature>[]

/** How a process handles messages on which another one may have crashed. */
export const deliverySuspectCases: Cases = [
  {
    name: 'after an unclean stop suspects are taken in groups, and are not blamed for getting through',
    async run(bench) {
      const began = gate()
      const list = jobs(6)
      await bench.publish(...list)
      const dead = await bench.start(
        {
          async handle() {
            began.open()
            await new Promise<void>(() => {})
          },
        },
        { unclosed: true },
      )
      await began.opened
      // On a queue only redelivered messages are suspects; on a log those after the position.
      if (!bench.queue.source.capabilities.positions)
        await until('all were delivered', () => dead.tally.delivered === list.length)
      await dead.drain(1)
      const onRecord = new Map<string, number>()
      await bench.start(
        {
          async handle({ message, tx }: JobContext) {
            onRecord.set(message.id, await bench.attempts(message.id))
            await bench.apply(tx, message.id)
          },
        },
        { another: true },
      )
      await bench.finish(6)
      assert.equal(onRecord.size, 6)
      assert.deepEqual((await bench.applied()).sort(), idsOf(list))
      for (const { id } of list) assert.equal(await bench.attempts(id), 0)
    },
  },
]

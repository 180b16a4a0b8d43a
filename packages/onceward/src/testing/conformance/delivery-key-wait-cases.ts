import assert from 'node:assert/strict'
import { ignore, park, retryAfter } from '../../engine/batch/verdicts.ts'
import { until } from '../until.ts'
import type { ConformanceCase } from './conformance-case.ts'
import type { DeliveryFeature } from './delivery.ts'
import type { DeliveryBench, Job, JobContext, JobContract } from './delivery-bench.ts'

type Cases = readonly ConformanceCase<DeliveryBench<unknown>, DeliveryFeature>[]

const identity: JobContract['identity'] = {
  id: job => job.id,
  orderKey: job => job.key,
  businessKey: job => job.business,
}
const failure = { mode: 'defer', attemptsMax: 1_000, delayMs: 1, delayMaxMs: 20 } as const
const one: Job = { id: 'a', business: 'cap-1' }
const resent: Job = { id: 'b', business: 'cap-1' }

/**
 * A resend under another id is a duplicate only of an effect. While the holder of its business key is
 * unfinished, it waits.
 */
export const deliveryKeyWaitCases: Cases = [
  ...(['inside one batch', 'one after the other'] as const).map(how => ({
    name: `a resend waits for a parked message with its business key (${how})`,
    needs: ['business keys'] as const,
    async run(bench: DeliveryBench<unknown>) {
      if (how === 'inside one batch') await bench.publish(one, resent)
      await bench.start({
        identity,
        handle: async ({ message, tx }: JobContext) =>
          message.id === 'a' ? park('a person decides') : bench.apply(tx, message.id),
      })
      if (how === 'one after the other') {
        await bench.publish(one)
        await bench.untilEnded(1)
        await bench.publish(resent)
      }
      await bench.untilEnded(2)
      await bench.publish(resent)
      await bench.finish(3)
      assert.deepEqual(await bench.applied(), [])
      assert.deepEqual(
        (await bench.held()).map(({ id, state, code }) => [id, state, code]),
        [
          ['a', 'parked', 'park'],
          ['b', 'parked', 'behind_business_key'],
        ],
      )
      assert.equal(await bench.under.businessKey!(bench.name, 'cap-1'), 'a')
    },
  })),
  {
    name: 'a resend is applied when the deferred message with its business key ends without an effect',
    needs: ['held work'],
    async run(bench) {
      let open = false
      await bench.publish(one)
      await bench.start({
        identity,
        failure,
        async handle({ message, tx }: JobContext) {
          if (message.id === 'b') return bench.apply(tx, message.id)
          if (open) return ignore('nothing to do')
          throw new Error('not yet')
        },
      })
      await until('the first is kept', async () => (await bench.marker('a')) === 'stored')
      await bench.publish(resent)
      await until('the resend is kept behind it', async () => (await bench.marker('b')) === 'stored')
      await bench.expectRemaining(0)
      open = true
      await until('the resend is applied', async () => (await bench.marker('b')) === 'applied')
      assert.equal(await bench.marker('a'), 'ignored')
      assert.deepEqual(await bench.applied(), ['b'])
      assert.equal(await bench.under.businessKey!(bench.name, 'cap-1'), 'b')
      await bench.drain()
    },
  },
  {
    name: 'a resend that waits for its business key keeps its place under its order key',
    needs: ['key order', 'message key', 'held work'],
    async run(bench) {
      let open = false
      await bench.publish({ ...one, key: 'k1' })
      await bench.start({
        order: 'key',
        identity,
        failure,
        async handle({ message, tx }: JobContext) {
          if (message.id !== 'a') return bench.apply(tx, message.id)
          if (open) return ignore('nothing to do')
          throw new Error('not yet')
        },
      })
      await until('the first is kept', async () => (await bench.marker('a')) === 'stored')
      await bench.publish({ ...resent, key: 'k2' }, { id: 'c', key: 'k2', business: 'cap-2' })
      await bench.publish({ id: 'd', key: 'k3', business: 'cap-3' })
      await until('another key continues', async () => (await bench.applied()).join() === 'd')
      await until('what is behind the resend is kept', async () => (await bench.marker('c')) === 'stored')
      open = true
      await until('all are done', async () => (await bench.applied()).length === 3)
      assert.deepEqual(await bench.applied(), ['d', 'b', 'c'])
      await bench.drain()
    },
  },
  {
    name: 'a resend that waits for a parked message does not pass an earlier message of its order key',
    needs: ['key order', 'message key'],
    async run(bench) {
      let tries = 0
      await bench.publish(
        { ...one, key: 'k1' },
        { id: 'c', key: 'k2', business: 'cap-2' },
        { ...resent, key: 'k2' },
      )
      await bench.start({
        order: 'key',
        identity,
        handle: async ({ message, tx }: JobContext) => {
          if (message.id === 'a') return park('a person decides')
          if (message.id === 'c' && ++tries === 1) return retryAfter(20)
          await bench.apply(tx, message.id)
        },
      })
      await bench.finish(3)
      assert.deepEqual(await bench.applied(), ['c'])
      assert.deepEqual(
        (await bench.held()).map(({ id, code }) => [id, code]),
        [
          ['a', 'park'],
          ['b', 'behind_business_key'],
        ],
      )
    },
  },
  {
    name: 'a message is not stored in front of an earlier one of its order key that waits for a business key',
    needs: ['key order', 'message key', 'held work'],
    async run(bench) {
      await bench.publish({ id: 'holder', key: 'k0', business: 'cap-1' })
      await bench.start({
        order: 'key',
        identity,
        inbox: { mode: 'stored' },
        handle: async ({ message, tx }: JobContext) =>
          message.id === 'holder' ? park('a person decides') : bench.apply(tx, message.id),
      })
      await until('the holder is parked', async () => (await bench.marker('holder')) === 'parked')
      await bench.publish(
        { ...one, key: 'k1' },
        { ...resent, key: 'k2' },
        { id: 'c', key: 'k2', business: 'cap-2' },
      )
      const states = async () =>
        (await bench.held()).map(({ id, state, code }) => [id, state, code].join(' '))
      await until('all are held', async () => (await states()).length === 4)
      assert.deepEqual(await states(), [
        'a parked behind_business_key',
        'b parked behind_business_key',
        'c parked behind_parked',
        'holder parked park',
      ])
      await bench.drain()
    },
  },
]

import assert from 'node:assert/strict'
import { until } from '../until.ts'
import type { ConformanceCase } from './conformance-case.ts'
import type { DeliveryFeature } from './delivery.ts'
import { type DeliveryBench, idsOf, type JobContext, jobs } from './delivery-bench.ts'
import { gate } from './store-bench.ts'

type Cases = readonly ConformanceCase<DeliveryBench<unknown>, DeliveryFeature>[]

const gateway = { external: { gateway: { url: 'https://gateway.invalid/' } } }

/** Processes start and stop, connections break, modes differ. */
export const deliveryLifecycleCases: Cases = [
  {
    name: 'a drain finishes started work and acknowledges it',
    async run(bench) {
      const [began, finish] = [gate(), gate()]
      await bench.publish({ id: 'a' })
      const one = await bench.start({
        async handle({ message, tx }: JobContext) {
          await bench.apply(tx, message.id)
          began.open()
          await finish.opened
        },
      })
      await began.opened
      const drained = one.drain()
      finish.open()
      await drained
      assert.equal(one.state, 'stopped')
      await bench.expectRemaining(0)
      assert.deepEqual(await bench.applied(), ['a'])
    },
  },
  {
    name: 'a drain past its deadline acknowledges no unfinished message; the next process applies it once',
    async run(bench) {
      const began = gate()
      const list = jobs(5)
      await bench.publish(...list)
      const one = await bench.start({
        async handle({ message, tx }: JobContext) {
          await bench.apply(tx, message.id)
          began.open()
          await new Promise<void>(() => {})
        },
      })
      await began.opened
      await one.drain(1)
      await bench.expectRemaining(5)
      assert.deepEqual(await bench.applied(), [])
      await bench.start({}, { another: true })
      await bench.finish(5)
      assert.deepEqual((await bench.applied()).sort(), idsOf(list))
    },
  },
  {
    name: 'stopping in the middle of a handler does not count as a failed attempt',
    async run(bench) {
      const began = gate()
      await bench.publish({ id: 'a' })
      const failure = { attemptsMax: 1 }
      const one = await bench.start({
        failure,
        async handle() {
          began.open()
          await new Promise<void>(() => {})
        },
      })
      await began.opened
      one.leave()
      await one.finished
      await bench.expectRemaining(1)
      await bench.start({ failure }, { another: true })
      await bench.finish(1)
      assert.deepEqual(await bench.applied(), ['a'])
      assert.equal(await bench.attempts('a'), 0)
      assert.deepEqual(await bench.held(), [])
    },
  },
  {
    name: 'processes that start and stop lose and repeat no message',
    async run(bench) {
      const list = jobs(300)
      const batch = { sizeMax: 5, deliveriesMax: 20 }
      for (let round = 0; round < 6; round++) {
        await bench.publish(...list.slice(round * 50, round * 50 + 50))
        const one = await bench.start({ batch }, { another: round % 2 === 1 })
        await until('it has done something', () => (one.tally.outcomes.applied ?? 0) >= 10)
        if (round % 2 === 0) one.leave()
        else await one.drain()
        await one.finished
      }
      await bench.start()
      await until('all are applied', async () => (await bench.applied()).length >= 300)
      await bench.drain()
      await bench.expectRemaining(0)
      assert.deepEqual((await bench.applied()).sort(), idsOf(list).sort())
    },
  },
  {
    name: 'a connection lost in the middle of a handler repeats no effect',
    needs: ['lost connection', 'single settling'],
    async run(bench) {
      const [began, finish] = [gate(), gate()]
      await bench.publish({ id: 'a' })
      const one = await bench.start({
        async handle({ message, tx }: JobContext) {
          began.open()
          await finish.opened
          await bench.apply(tx, message.id)
        },
      })
      await began.opened
      await bench.queue.disconnect!()
      await until('the message came again', () => one.tally.delivered === 2)
      finish.open()
      await bench.finish(2)
      assert.deepEqual(bench.ended, { applied: 1, duplicate: 1 })
      assert.deepEqual(await bench.applied(), ['a'])
    },
  },
  {
    name: 'a log whose connection is lost in the middle of a handler repeats no effect and continues',
    needs: ['lost connection', 'positions'],
    async run(bench) {
      const [began, finish] = [gate(), gate()]
      await bench.publish({ id: 'a' })
      await bench.start({
        async handle({ message, tx }: JobContext) {
          began.open()
          await finish.opened
          await bench.apply(tx, message.id)
        },
      })
      await began.opened
      await bench.queue.disconnect!()
      finish.open()
      await bench.publish({ id: 'b' })
      await until('both are applied', async () => (await bench.applied()).length >= 2)
      await bench.expectRemaining(0)
      await bench.drain()
      assert.deepEqual((await bench.applied()).sort(), ['a', 'b'])
    },
  },
  {
    name: 'an external effect is requested once per key, in the transaction',
    needs: ['outgoing'],
    async run(bench) {
      let failures = 0
      const [first, second] = [
        { id: 'a', note: 'k1' },
        { id: 'b', note: 'k1' },
      ]
      await bench.publish(first, first, second, { id: 'c', note: 'k2' })
      await bench.start({
        effect: gateway,
        async handle({ message, tx, effects }: JobContext) {
          effects.external('gateway', { key: message.note!, body: { pay: message.note } })
          await bench.apply(tx, message.id)
          if (message.id === 'c' && failures++ === 0) throw new Error('not yet')
        },
      })
      await bench.finish(4)
      assert.deepEqual((await bench.applied()).sort(), ['a', 'b', 'c'])
      const intents = [...(await bench.under.intents!(bench.name))].sort((a, b) => (a.key < b.key ? -1 : 1))
      assert.deepEqual(
        intents.map(({ key, body }) => [key, body.toString()]),
        [
          ['k1', '{"pay":"k1"}'],
          ['k2', '{"pay":"k2"}'],
        ],
      )
    },
  },
  {
    name: 'the same external key with other bytes quarantines its message alone and undoes its writes',
    needs: ['outgoing'],
    async run(bench) {
      const contract = {
        effect: gateway,
        async handle({ message, tx, effects }: JobContext) {
          await bench.apply(tx, message.id)
          effects.external('gateway', { key: 'k', body: message.note })
        },
      }
      const first = await bench.start(contract)
      await bench.publish({ id: 'a', note: 'pay 5' })
      await bench.untilEnded(1)
      await first.drain()
      await bench.publish({ id: 'b', note: 'pay 6' }, { id: 'c', note: 'pay 5' })
      await bench.start(contract)
      await bench.finish(3)
      assert.deepEqual((await bench.applied()).sort(), ['a', 'c'])
      assert.deepEqual(
        (await bench.held()).map(({ id, state, code }) => [id, state, code]),
        [['b', 'quarantined', 'effect_conflict']],
      )
      assert.equal((await bench.under.intents!(bench.name)).length, 1)
    },
  },
  {
    name: 'a rebuild under a new generation applies again and requests no external effect',
    needs: ['outgoing'],
    async run(bench) {
      const contract = {
        effect: gateway,
        async handle({ message, tx, effects, mode }: JobContext) {
          effects.external('gateway', { key: message.id, body: mode })
          await bench.apply(tx, `${message.id} ${mode}`)
        },
      }
      const live = await bench.start(contract)
      await bench.publish({ id: 'a' })
      await bench.untilEnded(1)
      await live.drain()
      await bench.start({ ...contract, generation: 2 }, { mode: 'rebuild' })
      // A new generation reads a log from its beginning; a queue has deleted its messages.
      if (!bench.queue.source.capabilities.positions) await bench.publish({ id: 'a' })
      await bench.publish({ id: 'b' })
      await bench.finish(3)
      assert.deepEqual((await bench.applied()).sort(), ['a live', 'a rebuild', 'b rebuild'])
      assert.deepEqual(
        (await bench.under.intents!(bench.name)).map(({ key }) => key),
        ['a'],
      )
    },
  },
]

import assert from 'node:assert/strict'
import { ignore, park, reject, retryAfter, type Verdict } from '../../engine/batch/verdicts.ts'
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

const healthy = jobs(20)
const bad: Job = { id: 'bad' }
/** The failing message between healthy neighbours. */
const mixed: readonly Job[] = [...healthy.slice(0, 10), bad, ...healthy.slice(10)]

/** A failing message reaches an outcome; its neighbours are not affected. */
export const deliveryFailureCases: Cases = [
  ...(['before', 'after'] as const).map(when => ({
    name: `a handler that throws ${when} it wrote has no effect and does not affect other messages`,
    async run(bench: DeliveryBench<unknown>) {
      await bench.publish(...mixed)
      await bench.start({
        async handle({ message, tx }: JobContext) {
          if (message.id === 'bad' && when === 'before') throw new Error('no')
          await bench.apply(tx, message.id)
          if (message.id === 'bad') throw new Error('no')
        },
      })
      await bench.finish(mixed.length)
      assert.deepEqual((await bench.applied()).sort(), idsOf(healthy).sort())
      await expectParked(bench, 3)
    },
  })),
  {
    name: 'an error of a batch handler fails only the message that causes it',
    async run(bench) {
      await bench.publish(...mixed)
      await bench.start({
        async handleBatch({ batch, tx }: JobBatch) {
          for (const { message } of batch) {
            await bench.apply(tx, message.id)
            if (message.id === 'bad') throw new Error('no')
          }
        },
      })
      await bench.finish(mixed.length)
      assert.deepEqual((await bench.applied()).sort(), idsOf(healthy).sort())
      await expectParked(bench, 3)
    },
  },
  {
    name: 'a failing statement fails only the message that sent it',
    needs: ['failing statements'],
    async run(bench) {
      await bench.publish(...mixed)
      await bench.start({
        failure: { attemptsMax: 2, delayMs: 1, classes: { '23505': 'transient', '22012': 'transient' } },
        async handle({ message, tx }: JobContext) {
          await bench.apply(tx, message.id)
          if (message.id === 'bad') await bench.under.fail!(tx)
        },
      })
      await bench.finish(mixed.length)
      assert.deepEqual((await bench.applied()).sort(), idsOf(healthy).sort())
      await expectParked(bench, 2)
    },
  },
  {
    name: 'statements that fail in every batch fail only the messages that send them, with their requested effects',
    needs: ['failing statements'],
    async run(bench) {
      const list = jobs(120)
      const left = new Map(list.map(({ id }, index) => [id, index % 9 === 4 ? 1 + (index % 2) : 0]))
      await bench.publish(...list)
      await bench.start({
        batch: { sizeMax: 30 },
        failure: {
          attemptsMax: 5,
          delayMs: 1,
          delayMaxMs: 3,
          breaker: false,
          classes: { '22012': 'transient' },
        },
        effect: { external: { gateway: { url: 'http://127.0.0.1:9/', allowPrivate: true } } },
        async handle({ message, tx, effects }: JobContext) {
          const failures = left.get(message.id)!
          await bench.apply(tx, message.id)
          effects.external('gateway', { key: message.id, body: failures })
          if (failures === 0) return
          left.set(message.id, failures - 1)
          await bench.under.fail!(tx)
        },
      })
      await bench.finish(list.length)
      assert.deepEqual((await bench.applied()).sort(), idsOf(list).sort())
      const intents = await bench.under.intents!(bench.name)
      assert.deepEqual(intents.map(({ key }) => key).sort(), idsOf(list).sort())
      assert.deepEqual(await bench.held(), [])
    },
  },
  {
    name: 'a message with a swallowed statement error is parked at once, with its own code',
    needs: ['failing statements'],
    async run(bench) {
      await bench.publish(...mixed)
      await bench.start({
        async handle({ message, tx }: JobContext) {
          if (message.id === 'bad') await bench.under.fail!(tx).catch(() => {})
          else await bench.apply(tx, message.id)
        },
      })
      await bench.finish(mixed.length)
      assert.deepEqual((await bench.applied()).sort(), idsOf(healthy).sort())
      const [row] = await bench.held()
      assert.deepEqual([row!.id, row!.state, row!.code], ['bad', 'parked', 'tx_error_swallowed'])
    },
  },
  {
    name: 'a message that fails and then succeeds is applied once, its failures counted',
    async run(bench) {
      let failures = 0
      await bench.publish({ id: 'a' })
      await bench.start({
        failure: { attemptsMax: 5, delayMs: 1, delayMaxMs: 2 },
        async handle({ message, tx }: JobContext) {
          await bench.apply(tx, message.id)
          if (failures++ < 3) throw new Error('not yet')
        },
      })
      await bench.finish(1)
      assert.deepEqual(await bench.applied(), ['a'])
      assert.equal(await bench.attempts('a'), 3)
      assert.equal(await bench.marker('a'), 'applied')
      assert.deepEqual(await bench.held(), [])
    },
  },
  {
    name: 'attempts are counted across processes',
    async run(bench) {
      await bench.publish({ id: 'a' })
      const failure = { attemptsMax: 2, delayMs: 0, delayMaxMs: 0 }
      const first = await bench.start({
        failure: { ...failure, delayMs: 600_000, delayMaxMs: 600_000 },
        handle: no,
      })
      while (first.tally.outcomes.retry === undefined) await new Promise(resolve => setImmediate(resolve))
      await first.drain()
      await bench.start({ failure, handle: no }, { another: true })
      await bench.finish(1)
      assert.equal(await bench.attempts('a'), 2)
      assert.equal(await bench.marker('a'), 'parked')
    },
  },
  {
    name: 'a parked message that is redelivered stays held, without a second row or attempt',
    async run(bench) {
      await bench.start({ handle: no })
      for (let time = 1; time <= 3; time++) {
        await bench.publish({ id: 'bad' })
        await bench.untilEnded(time)
      }
      await bench.finish(3)
      assert.deepEqual(bench.ended, { parked: 1, 'already held': 2 })
      await expectParked(bench, 3)
    },
  },
  ...(['returned', 'thrown'] as const).map(how => ({
    name: `verdicts decide the outcome of a message (${how})`,
    async run(bench: DeliveryBench<unknown>) {
      const list = ['ignored', 'parked', 'dead', 'retried'].map(id => ({ id }))
      await bench.publish(...list, ...healthy)
      let calls = 0
      const verdictOf = (id: string): Verdict | null => {
        if (id === 'ignored') return ignore('not ours')
        if (id === 'parked' || id === 'written') return park('ask an operator')
        if (id === 'dead') return reject('never valid')
        return id === 'retried' && calls++ === 0 ? retryAfter(1) : null
      }
      await bench.start({
        async handle({ message, tx }: JobContext) {
          if (message.id === 'written') await bench.apply(tx, 'written before the verdict')
          const verdict = verdictOf(message.id)
          if (verdict === null) return bench.apply(tx, message.id)
          if (how === 'thrown') throw verdict
          return verdict
        },
      })
      await bench.untilEnded(list.length + healthy.length)
      await bench.publish({ id: 'written' })
      await bench.finish(list.length + healthy.length + 1)
      await expectVerdicts(bench)
    },
  })),
  {
    name: 'a batch handler gives verdicts for single messages',
    async run(bench) {
      const list = ['ignored', 'parked', 'dead', 'retried'].map(id => ({ id }))
      await bench.publish(...list, ...healthy)
      let calls = 0
      await bench.start({
        async handleBatch({ batch, tx }: JobBatch) {
          const verdicts = new Map<(typeof batch)[number], Verdict>()
          for (const item of batch) {
            const { id } = item.message
            if (id === 'ignored') verdicts.set(item, ignore('not ours'))
            else if (id === 'parked' || id === 'written') verdicts.set(item, park('ask an operator'))
            else if (id === 'dead') verdicts.set(item, reject('never valid'))
            else if (id === 'retried' && calls++ === 0) verdicts.set(item, retryAfter(1))
            else await bench.apply(tx, id)
          }
          return verdicts
        },
      })
      await bench.untilEnded(list.length + healthy.length)
      await bench.publish({ id: 'written' })
      await bench.finish(list.length + healthy.length + 1)
      await expectVerdicts(bench)
    },
  },
  {
    name: 'retrying a message releases its business key, and no other message loses its own',
    needs: ['business keys'],
    async run(bench) {
      let failures = 0
      await bench.publish({ id: 'a', business: 'k' })
      await bench.start({
        identity: { id: job => job.id, businessKey: job => job.business },
        async handle({ message, tx }: JobContext) {
          await bench.apply(tx, message.id)
          if (failures++ === 0) throw new Error('not yet')
        },
      })
      await bench.finish(1)
      assert.deepEqual(await bench.applied(), ['a'])
      assert.equal(await bench.under.businessKey!(bench.name, 'k'), 'a')
    },
  },
]

function no(): never {
  throw new Error('no')
}

async function expectParked(bench: DeliveryBench<unknown>, attempts: number): Promise<void> {
  const rows = await bench.held()
  assert.deepEqual(
    rows.map(({ id, state, attempts: made }) => [id, state, made]),
    [['bad', 'parked', attempts]],
  )
  assert.equal(rows[0]!.body.toString(), JSON.stringify(bad))
  assert.equal(await bench.marker('bad'), 'parked')
  assert.equal(await bench.attempts('bad'), attempts)
}

async function expectVerdicts(bench: DeliveryBench<unknown>): Promise<void> {
  assert.deepEqual((await bench.applied()).sort(), [...idsOf(healthy), 'retried'].sort())
  assert.equal(await bench.marker('ignored'), 'ignored')
  assert.equal(await bench.marker('retried'), 'applied')
  const rows = (await bench.held()).map(({ id, state, reason }) => [id, state, reason])
  assert.deepEqual(rows, [
    ['dead', 'dead', 'never valid'],
    ['parked', 'parked', 'ask an operator'],
    ['written', 'parked', 'ask an operator'],
  ])
  assert.equal(await bench.attempts('retried'), 1)
}

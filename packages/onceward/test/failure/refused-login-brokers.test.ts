import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import {
  type ConsumerContract,
  defineConsumer,
  realEnvironment,
  runConsumer,
  type SqlTransaction,
} from 'onceward'
import { until } from 'onceward/testing'
import { startObserveServer } from '../../src/runtime/observe-server.ts'
import { skipWithout } from '../services/services.ts'
import { scrape } from '../telemetry/scraped.ts'
import { type BrokerName, openBroker, openStore } from './broker-scene.ts'

type Contract = ConsumerContract<{ id: string }, SqlTransaction>

const count = 40
const messages = Array.from({ length: count }, (_, n) => ({
  body: JSON.stringify({ id: `m${n}` }),
  key: `k${n % 5}`,
  headers: {},
}))
const quick = { delayMs: 10, delayMaxMs: 20, breaker: { failuresMax: 3, pauseMs: 50, pauseMaxMs: 100 } }

describe(
  'a handler whose dependency answers 401 or 403',
  await skipWithout('postgres', 'rabbitmq', 'kafka'),
  () => {
    for (const broker of ['rabbitmq', 'kafka'] as const)
      for (const status of [401, 403] as const) {
        test(`pauses, and keeps every message: ${status}, ${broker}`, { timeout: 120_000 }, async t => {
          const scene = await openScene(t, broker)
          const { paused, running, calls } = await scene.run({ failure: quick }, status)
          await scene.broker.send(messages)
          await until('the breaker pauses it', async () => (await paused()) === 1)
          const before = calls()
          await until('it was tried again and again', () => calls() >= before + 5)
          assert.match(running.health().reasons.join(), /a dependency is unavailable/)
          assert.equal(await scene.count('onceward.held'), 0)
          assert.equal(await scene.count('onceward.inbox'), 0)
          assert.equal(await scene.count('effect'), 0)
          scene.allow()
          await until('all are applied', async () => (await scene.count('effect')) === count)
          assert.equal(await scene.count('(select distinct id from effect) e'), count)
          assert.equal(await scene.count('onceward.held'), 0)
        })

        test(`halts at the first one where the contract says so: ${status}, ${broker}`, {
          timeout: 120_000,
        }, async t => {
          const scene = await openScene(t, broker)
          const halting = {
            failure: { ...quick, policies: { configuration: { terminal: 'halted' } } },
          } as const
          const { running, calls } = await scene.run(halting, status)
          await scene.broker.send(messages)
          await assert.rejects(running.finished, { code: 'consumer_halted' })
          assert.ok(calls() <= count, `${calls()} calls`)
          for (const table of ['onceward.held', 'onceward.inbox', 'onceward.attempt', 'effect'])
            assert.equal(await scene.count(table), 0, table)
          if (broker === 'rabbitmq')
            await until('the broker has them all again', async () => (await scene.broker.ready()) === count)
          scene.allow()
          await scene.run(halting, status)
          await until('all are applied', async () => (await scene.count('effect')) === count)
        })

        test(`follows the class that the contract gives it: ${status}, ${broker}`, {
          timeout: 120_000,
        }, async t => {
          const scene = await openScene(t, broker)
          await scene.run(
            { failure: { ...quick, classes: { [status]: 'validation' }, brake: false } },
            status,
          )
          await scene.broker.send(messages)
          await until('all are set aside', async () => (await scene.count('onceward.held')) === count)
          const { rows } = await scene.pool.query(
            'select distinct state::text, failure_class, attempts from onceward.held',
          )
          assert.deepEqual(rows, [{ state: 'dead', failure_class: 'validation', attempts: 1 }])
        })
      }
  },
)

async function openScene(t: TestContext, name: BrokerName) {
  const broker = await openBroker(t, name)
  const store = await openStore(t)
  let refused = true
  return {
    ...store,
    broker,
    allow: () => {
      refused = false
    },
    async run(contract: Pick<Contract, 'failure'>, status: number) {
      const server = await startObserveServer({ host: '127.0.0.1', port: 0 })
      let calls = 0
      const consumer = defineConsumer<{ id: string }, SqlTransaction>({
        name: 'refused',
        owner: 'tests',
        risk: 'money',
        source: broker.source,
        identity: { id: m => m.id },
        ...contract,
        async handle({ message, tx }) {
          calls++
          if (refused) throw Object.assign(new Error(`answered ${status}`), { status })
          await tx.query('insert into effect (id) values ($1)', [message.id])
        },
      })
      const running = await runConsumer(consumer, {
        databaseUrl: store.url,
        ...broker.servers,
        env: realEnvironment({ meter: server.meter }),
      })
      running.finished.catch(() => {})
      store.ends.unshift(
        () => running.drain(5_000),
        () => server.close(),
      )
      const paused = async () => (await scrape(server.url)).sum('onceward_consumer_pauses_total')
      return { running, paused, calls: () => calls }
    },
  }
}

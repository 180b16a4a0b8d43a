import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, describe, type TestContext, test } from 'node:test'
import amqp from 'amqplib'
import {
  type ConsumerContract,
  defineConsumer,
  type RunOptions,
  realEnvironment,
  runConsumer,
  type SqlTransaction,
  type Store,
} from 'onceward'
import { file } from 'onceward/file'
import { topic } from 'onceward/kafka'
import { createQueue, postgresQueue, queueDepth } from 'onceward/postgres'
import { queue } from 'onceward/rabbitmq'
import { until } from 'onceward/testing'
import { libraries } from '../adapters/libraries.ts'
import { openKafka, randomName } from '../kafka/fixture.ts'
import { rabbitmqUrl, skipWithout } from '../services/services.ts'
import { type Step, workflow } from './declared-contracts.ts'
import { DeclaredRig, silent } from './declared-rig.ts'

type Contract = ConsumerContract<Step, SqlTransaction>

const opened = (caseId: string): Step => ({
  id: caseId,
  transitionId: caseId,
  caseId,
  event: 'Opened',
  version: 1,
})
const steps = ['a', 'b', 'c', 'd'].map(opened)
const failure = { attemptsMax: 10, delayMs: 1, delayMaxMs: 1, breaker: false } as const

const withRabbit = await skipWithout('rabbitmq')
const withKafka = await skipWithout('kafka')

/** `after` of step b fails twice after it wrote and published. */
describe('after a declared effect that fails at first', await skipWithout('postgres'), () => {
  let rig: DeclaredRig
  let calls: string[]
  before(async () => {
    rig = await DeclaredRig.open()
    await createQueue(rig.pool, 'moves')
  })
  after(() => rig.close())
  beforeEach(async () => {
    calls = []
    await rig.clear()
    await rig.pool.query('delete from onceward.queue_message')
  })

  const contract = (changes: Partial<Contract> & Pick<Contract, 'source'>) =>
    defineConsumer<Step, SqlTransaction>({
      name: rig.newName(),
      owner: 'tests',
      risk: 'projection',
      identity: { id: m => m.id },
      failure,
      ...changes,
      effect: {
        publish: { moved: { broker: 'postgres', queue: 'moves' } },
        apply: workflow({
          async after({ message: { id }, tx, effects }) {
            await tx.query('insert into move_seen (id, step) values ($1, $1)', [id])
            effects.publish('moved', { body: { id } })
            calls.push(id)
            if (id === 'b' && calls.filter(one => one === 'b').length <= 2) throw new Error('not yet')
          },
        }),
      },
    })

  const run = async (
    t: TestContext,
    consumer: ReturnType<typeof contract>,
    options: Partial<RunOptions> & { store?: Store<SqlTransaction> } = {},
  ) => {
    const running = await runConsumer(consumer, {
      databaseUrl: rig.url,
      env: realEnvironment({ log: silent }),
      ...options,
    })
    t.after(() => running.drain(10_000).catch(() => {}))
    return running
  }

  /** Every move is written and published once, and nothing is left. */
  const allOnce = async () => {
    const texts = async (sql: string) => (await rig.rows(sql)).map(row => row.text)
    const moves = () => texts('select id as text from move_seen order by 1')
    await until('all have moved', async () => (await moves()).length === 4)
    assert.deepEqual(await moves(), ['a', 'b', 'c', 'd'])
    assert.deepEqual(await texts(`select case_id || ' ' || state as text from workflow order by 1`), [
      'a new',
      'b new',
      'c new',
      'd new',
    ])
    await until('all are published', async () => (await queueDepth(rig.pool, 'moves')).messages >= 4)
    assert.deepEqual(
      await texts(`select convert_from(m.body, 'utf8')::json ->> 'id' as text from onceward.queue_message m
        join onceward.queue q on q.id = m.queue_id where q.name = 'moves' order by 1`),
      ['a', 'b', 'c', 'd'],
    )
    await until('no row is held', async () => (await rig.rows('select from onceward.held')).length === 0)
    assert.equal(calls.filter(id => id === 'b').length, 3)
  }

  test('deferred: a worker calls it later, once', async t => {
    const source = postgresQueue('deferred')
    await rig.fillQueue('deferred', steps)
    await run(t, contract({ source, failure: { ...failure, mode: 'defer' } }))
    await allOnce()
  })

  test('stored: workers call it once', async t => {
    await rig.fillQueue('stored', steps)
    await run(t, contract({ source: postgresQueue('stored'), inbox: { mode: 'stored' } }))
    await allOnce()
  })

  test('by checkpoint, without markers: it is called in the transaction that moves the position', async t => {
    const folder = mkdtempSync(join(tmpdir(), 'onceward-after-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const path = join(folder, 'steps.jsonl')
    writeFileSync(path, steps.map(step => `${JSON.stringify(step)}\n`).join(''))
    const consumer = contract({
      source: file(path, { until: 'end' }),
      dedup: 'checkpoint',
      order: 'partition',
      settle: { when: 'with effect' },
      replay: { modes: ['forensic'] },
    })
    const running = await run(t, consumer)
    await allOnce()
    await running.drain()
    await (await run(t, consumer)).drain()
    assert.equal(calls.filter(id => id === 'a').length <= 3, true, 'a second start reads nothing again')
    assert.equal((await rig.rows('select from move_seen')).length, 4)
  })

  test('in a retry queue of RabbitMQ: it is called for the copy, once', withRabbit, async t => {
    const url = await rabbitmqUrl()
    const connection = await amqp.connect(url)
    const channel = await connection.createConfirmChannel()
    const name = randomName('after')
    const levels = [100, 200].map(ms => `${name}.retry.${ms}`)
    t.after(async () => {
      for (const one of [name, `${name}.dead`, ...levels]) await channel.deleteQueue(one)
      await connection.close()
    })
    await channel.assertQueue(name, {
      durable: true,
      arguments: { 'x-queue-type': 'quorum', 'x-delivery-limit': -1 },
    })
    for (const step of steps) channel.sendToQueue(name, Buffer.from(JSON.stringify(step)))
    await channel.waitForConfirms()
    const levelled = { ...failure, mode: 'retry queue', delayMs: 100, delayMaxMs: 200 } as const
    await run(t, contract({ source: queue(name), failure: levelled }), { rabbitmqUrl: url })
    await allOnce()
  })

  test('in a retry topic of Kafka: it is called for the copy, once', withKafka, async t => {
    const kafka = await openKafka(t)
    const name = await kafka.createTopic()
    for (const ms of [100, 200]) await kafka.createTopic({ name: `${name}.retry.${ms}` })
    await kafka.produce(
      name,
      steps.map(step => JSON.stringify(step)),
    )
    const levelled = { ...failure, mode: 'retry topic', delayMs: 100, delayMaxMs: 200 } as const
    const source = topic(name, { group: name, start: 'earliest' })
    await run(t, contract({ source, failure: levelled }), { kafkaBootstrap: kafka.bootstrap })
    await allOnce()
  })

  for (const library of libraries)
    test(`on the store of ${library.name}: it writes and publishes once`, async t => {
      const store = library.open(rig.url)
      const name = rig.newName()
      await rig.fillQueue(name, steps)
      const consumer = contract({ source: postgresQueue(name) })
      const running = await run(t, consumer, { store: store.store as Store<SqlTransaction> })
      await allOnce()
      await running.drain()
      await store.close()
    })
})

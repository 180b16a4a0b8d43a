import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import {
  type ConsumerContract,
  defineConsumer,
  realEnvironment,
  runConsumer,
  type SqlTransaction,
} from 'onceward'
import { topic } from 'onceward/kafka'
import { createPool, migrate } from 'onceward/postgres'
import { queue } from 'onceward/rabbitmq'
import { until } from 'onceward/testing'
import { createTestQueue } from '../rabbitmq/broker.ts'
import { createDatabase, skipWithout } from '../services/services.ts'

interface Note {
  readonly id: string
}

type Contract = ConsumerContract<Note, SqlTransaction>

describe('failure.redelivery', await skipWithout('postgres', 'rabbitmq'), () => {
  test('set aside: the message is not tried, and ends as poison with its deliveries', async t => {
    const scene = await openScene(t)
    await scene.send('often')
    await scene.returnOften(3)
    await scene.send('once')
    const seen: string[] = []
    const running = await scene.run({
      failure: { redelivery: { countMax: 3, action: 'set aside' }, deadLetter: scene.dead },
      handle: ({ message }) => void seen.push(message.id),
    })
    await until('both are decided', async () => (await scene.markers()).length === 2)
    assert.deepEqual(await scene.markers(), ['often parked', 'once applied'])
    assert.deepEqual(seen, ['once'])
    const { rows } = await scene.pool.query(
      'select failure_class, code, attempts, delivery_count >= 3 as often, reason from onceward.held',
    )
    assert.deepEqual(rows, [
      {
        failure_class: 'poison',
        code: 'delivery_count',
        attempts: 1,
        often: true,
        reason: 'the broker delivered it 4 times',
      },
    ])
    assert.equal(running.consumer!.tally.outcomes.parked, 1)
  })

  test('the count decides nothing about a message that was applied: it is a duplicate', async t => {
    const scene = await openScene(t)
    const contract = {
      failure: { redelivery: { countMax: 3, action: 'set aside' as const } },
      handle: () => {},
    }
    await scene.send('a')
    const first = await scene.run(contract)
    await until('it is applied', async () => (await scene.markers()).length === 1)
    await first.drain()
    await scene.send('a')
    await scene.returnOften(3)
    const second = await scene.run(contract)
    await until('it is a duplicate', () => second.consumer!.tally.outcomes.duplicate === 1)
    assert.deepEqual(await scene.markers(), ['a applied'])
  })

  test('slowed: the message waits, others do not, and no attempt is counted', async t => {
    const scene = await openScene(t)
    await scene.send('often')
    await scene.returnOften(3)
    await scene.send('once')
    const seen: string[] = []
    const running = await scene.run({
      failure: { redelivery: { countMax: 3, action: 'slowed' }, delayMs: 3_000 },
      handle: ({ message }) => void seen.push(message.id),
    })
    await until('the other is applied', () => seen.includes('once'))
    await until('it is applied', () => seen.includes('often'))
    assert.deepEqual(seen, ['once', 'often'])
    await until('it is counted', () => running.consumer!.tally.outcomes.applied === 2)
    assert.equal(running.consumer!.tally.outcomes.retry, 1)
    assert.deepEqual((await scene.pool.query('select from onceward.attempt')).rows, [])
  })

  test('isolated: the message is a batch of its own', async t => {
    const scene = await openScene(t)
    await scene.send('often', 'often too')
    await scene.returnOften(2, 2)
    await scene.send('a', 'b', 'c')
    const batches: string[][] = []
    await scene.run({
      failure: { redelivery: { countMax: 2 } },
      handleBatch: async ({ batch }) => {
        batches.push(batch.map(({ message }) => message.id))
      },
    })
    await until('all are applied', () => batches.flat().length === 5)
    for (const batch of batches)
      assert.ok(batch.length === 1 || !batch.some(id => id.startsWith('often')), JSON.stringify(batches))
  })

  test('is refused where no deliveries are counted, and against a lane that must wait', () => {
    const define = (source: Contract['source'], more: Partial<Contract>) => () =>
      defineConsumer<Note, SqlTransaction>({
        name: 'notes',
        owner: 'tests',
        risk: 'projection',
        source,
        identity: { id: m => m.id },
        handle: () => {},
        ...more,
      } as Contract)
    const redelivery = { countMax: 3, action: 'set aside' } as const
    assert.throws(define(topic('t'), { failure: { redelivery } }), /needs a source that counts deliveries/)
    assert.throws(
      define(queue('q', { singleActiveConsumer: true }), {
        order: 'key',
        identity: { id: m => m.id, orderKey: m => m.id },
        failure: { redelivery, exhausted: 'stop' },
      }),
      /'set aside' contradicts failure.exhausted 'stop'/,
    )
  })
})

async function openScene(t: TestContext) {
  const database = await createDatabase()
  const pool = createPool(database.url, { max: 3 })
  await migrate(pool)
  const { name, url, channel, send, ready } = await createTestQueue(t)
  const quorum = { durable: true, arguments: { 'x-queue-type': 'quorum', 'x-delivery-limit': -1 } }
  await channel.assertQueue(name, quorum)
  await channel.assertQueue(`${name}.dead`, {
    durable: true,
    arguments: { ...quorum.arguments, 'x-expires': 120_000 },
  })
  const ends: (() => Promise<unknown>)[] = []
  t.after(async () => {
    for (const end of ends.reverse()) await end()
    await pool.end()
    await database.drop()
  })
  return {
    pool,
    dead: `${name}.dead`,
    send: (...ids: readonly string[]) => send(...ids.map(id => JSON.stringify({ id }))),
    /** Takes all messages and returns them unacknowledged, as a process that dies does. */
    async returnOften(times: number, count = 1) {
      for (let n = 0; n < times; n++) {
        const taken = []
        for (let one = 0; one < count; one++) {
          await until('it is there', async () => (await ready()) > 0)
          taken.push(await channel.get(name))
        }
        for (const message of taken) if (typeof message === 'object') channel.nack(message, false, true)
        await until('they are back', async () => (await ready()) === count)
      }
    },
    async markers(): Promise<string[]> {
      const sql = `select message_id || ' ' || status as marker from onceward.inbox order by message_id`
      return (await pool.query(sql)).rows.map(({ marker }) => marker)
    },
    async run(contract: Partial<Contract>) {
      const consumer = defineConsumer<Note, SqlTransaction>({
        name: 'notes',
        owner: 'tests',
        risk: 'projection',
        source: queue(name),
        identity: { id: m => m.id },
        ...contract,
      } as Contract)
      const running = await runConsumer(consumer, {
        databaseUrl: database.url,
        rabbitmqUrl: url,
        env: realEnvironment(),
      })
      ends.push(() => running.drain(5_000))
      return running
    },
  }
}

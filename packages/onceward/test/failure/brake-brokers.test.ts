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
import { openKafka, randomName } from '../kafka/fixture.ts'
import { createTestQueue } from '../rabbitmq/broker.ts'
import { createDatabase, skipWithout } from '../services/services.ts'

interface Order {
  readonly id: string
  readonly type: string
  readonly amount: string
}

type Contract = ConsumerContract<Order, SqlTransaction>

const count = 150
const quick = { delayMs: 50, delayMaxMs: 100, brake: { pauseMs: 100, pauseMaxMs: 400 } } as const
const orders = (type = 'OrderPlaced', prefix = 'm', amount = '7') =>
  Array.from({ length: count }, (_, n) => ({ id: `${prefix}${n}`, type, amount }))

describe('the brake on brokers', await skipWithout('postgres', 'rabbitmq', 'kafka'), () => {
  for (const mode of ['block', 'defer', 'retry queue', 'retry topic'] as const)
    for (const broker of ['rabbitmq', 'kafka'] as const) {
      if (mode === (broker === 'kafka' ? 'retry queue' : 'retry topic')) continue
      test(`a column that is added later releases the type automatically: ${mode}, ${broker}`, {
        timeout: 180_000,
      }, async t => {
        const scene = await openScene(t, broker, mode)
        const { tries } = await scene.run({
          failure: { ...quick, mode },
          insert: `insert into effect (id, later) values ($1, $2)`,
        })
        await scene.send(orders())
        await until('the type is paused', async () => (await scene.open()) === 'OrderPlaced')
        const before = tries()
        await until('probes were tried', () => tries() >= before + 3)
        assert.ok((await scene.held("state <> 'stored'")) <= 19)
        const aside = await scene.held("state <> 'stored'")
        await scene.pool.query('alter table effect add column later text')
        await until('the others are applied', async () => (await scene.applied()) === count - aside)
        await until('the pause is over', async () => (await scene.open()) === undefined)
        assert.equal(await scene.held("state <> 'stored'"), aside)
      })
    }

  for (const [risk, asideMax] of [
    ['money', 19],
    ['low value', 49],
  ] as const)
    for (const form of ['handle', 'handleBatch'] as const)
      test(`with default settings few messages are set aside: risk ${risk}, ${form}`, {
        timeout: 180_000,
      }, async t => {
        const scene = await openScene(t, 'rabbitmq', 'block')
        await scene.send(orders())
        await scene.run({ risk, form, insert: `insert into effect (id, later) values ($1, $2)` })
        await until('the type is paused', async () => (await scene.open()) === 'OrderPlaced')
        const aside = await scene.held("state <> 'stored'")
        assert.ok(aside <= asideMax, `${aside} set aside`)
        await scene.pool.query('alter table effect add column later text')
        await until('the others are applied', async () => (await scene.applied()) === count - aside)
        assert.equal(await scene.held("state <> 'stored'"), aside)
      })

  test('messages that fail twice and then pass never pause their type, in any mode', {
    timeout: 180_000,
  }, async t => {
    const scene = await openScene(t, 'rabbitmq', 'block')
    const seen = new Map<string, number>()
    await scene.run({
      failure: quick,
      insert: `insert into effect (id, amount) values ($1, $2)`,
      before: ({ id }) => {
        seen.set(id, (seen.get(id) ?? 0) + 1)
        if (seen.get(id)! < 3) throw new Error('not yet')
      },
    })
    await scene.send(orders())
    await until('all are applied', async () => (await scene.applied()) === count)
    assert.equal(await scene.value('select count(*)::int as value from onceward.brake'), 0)
    assert.equal(await scene.value('select count(*)::int as value from onceward.attempt'), 2 * count)
  })

  test('messages that fail at each first try are released by one that failed before', {
    timeout: 180_000,
  }, async t => {
    const scene = await openScene(t, 'rabbitmq', 'block')
    const seen = new Set<string>()
    await scene.run({
      failure: { ...quick, attemptsMax: 1 },
      insert: `insert into effect (id, amount) values ($1, $2)`,
      before: ({ id }) => {
        if (seen.has(id)) return
        seen.add(id)
        throw new Error('the first try')
      },
    })
    await scene.send(orders())
    await until(
      'all are decided',
      async () => (await scene.applied()) + (await scene.held("state = 'parked'")) === count,
    )
    await until('the pause is over', async () => (await scene.open()) === undefined)
    assert.ok((await scene.applied()) > 0)
  })

  test('a producer of poison does not stop the others', { timeout: 180_000 }, async t => {
    const scene = await openScene(t, 'rabbitmq', 'block')
    await scene.run({ failure: quick, insert: `insert into effect (id, amount) values ($1, $2::int)` })
    const bad = orders('OrderPlaced', 'bad', 'seven')
    const good = orders('OrderPlaced', 'good')
    const others = orders('OrderPaid', 'paid')
    await scene.send(bad.flatMap((one, n) => [one, good[n]!, others[n]!]))
    await until('all good ones are applied', async () => (await scene.applied()) === 2 * count)
    // If the bad ones come last, their type is paused until the next good one.
    let more = 0
    await until('all bad ones are set aside', async () => {
      await scene.send(orders('OrderPlaced', `more${more++}`).slice(0, 1))
      return (await scene.held("state = 'dead'")) === count
    })
    await until('the pause is over', async () => (await scene.open()) === undefined)
  })

  test('what cannot be decoded, validated or identified pauses nothing', { timeout: 180_000 }, async t => {
    const scene = await openScene(t, 'rabbitmq', 'block')
    await scene.run({ failure: quick, insert: `insert into effect (id, amount) values ($1, $2)` })
    const broken = Array.from({ length: count }, (_, n) => [`{"id":${n},`, `{"type":"OrderPlaced","n":${n}}`])
    await scene.raw(broken.flat())
    await until('all are set aside', async () => (await scene.held("state <> 'stored'")) === 2 * count)
    assert.equal(await scene.value('select count(*)::int as value from onceward.brake'), 0)
  })
})

interface Run extends Partial<Pick<Contract, 'failure' | 'risk'>> {
  readonly insert: string
  readonly form?: 'handle' | 'handleBatch'
  readonly before?: (order: Order) => void
}

async function openScene(t: TestContext, broker: 'rabbitmq' | 'kafka', mode: string) {
  const database = await createDatabase()
  const pool = createPool(database.url, { max: 3 })
  await migrate(pool)
  await pool.query('create table effect (id text not null, amount text)')
  const levels = mode.startsWith('retry') ? [50, 100] : []
  const { source, servers, raw } = await (broker === 'kafka' ? onKafka(t, levels) : onRabbit(t, levels))
  const ends: (() => Promise<unknown>)[] = []
  t.after(async () => {
    for (const end of ends) await end()
    await pool.end()
    await database.drop()
  })
  const value = async (sql: string) => (await pool.query(sql)).rows[0]?.value
  return {
    pool,
    value,
    raw,
    send: (some: readonly Order[]) => raw(some.map(one => JSON.stringify(one))),
    applied: (): Promise<number> => value('select count(distinct id)::int as value from effect'),
    held: (where: string): Promise<number> =>
      value(`select count(*)::int as value from onceward.held where ${where}`),
    open: () => value('select message_type as value from onceward.brake where ended_at is null'),
    async run({ failure, risk = 'money', form = 'handle', insert, before = () => {} }: Run) {
      let tries = 0
      const one = async (message: Order, tx: SqlTransaction) => {
        tries++
        before(message)
        await tx.query(insert, [message.id, message.amount])
      }
      const consumer = defineConsumer<Order, SqlTransaction>({
        name: 'orders',
        owner: 'tests',
        risk,
        source,
        identity: { id: m => m.id, type: m => m.type },
        ...(failure && { failure }),
        ...(form === 'handle'
          ? { handle: ({ message, tx }) => one(message, tx) }
          : {
              async handleBatch({ batch, tx }) {
                for (const { message } of batch) await one(message, tx)
              },
            }),
      })
      const running = await runConsumer(consumer, {
        databaseUrl: database.url,
        ...servers,
        env: realEnvironment(),
      })
      ends.push(() => running.drain(5_000))
      return { tries: () => tries }
    },
  }
}

async function onRabbit(t: TestContext, levels: readonly number[]) {
  const { name, url, channel, send } = await createTestQueue(t)
  await channel.assertQueue(name, {
    durable: true,
    arguments: { 'x-queue-type': 'quorum', 'x-delivery-limit': -1 },
  })
  t.after(async () => {
    for (const level of levels) await channel.deleteQueue(`${name}.retry.${level}`).catch(() => {})
  })
  return {
    source: queue(name),
    servers: { rabbitmqUrl: url },
    raw: (bodies: readonly string[]) => send(...bodies),
  }
}

async function onKafka(t: TestContext, levels: readonly number[]) {
  const kafka = await openKafka(t)
  const name = randomName('braked')
  await kafka.createTopic({ name, partitions: 2 })
  for (const level of levels) await kafka.createTopic({ name: `${name}.retry.${level}` })
  const raw = (bodies: readonly string[]) =>
    kafka.produce(
      name,
      bodies.map((value, n) => ({ value, key: `k${n % 7}`, partition: n % 2 })),
    )
  return {
    source: topic(name, { group: name, start: 'earliest' }),
    servers: { kafkaBootstrap: kafka.bootstrap },
    raw,
  }
}

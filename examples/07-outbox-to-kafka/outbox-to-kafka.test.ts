import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { describe, it, type TestContext } from 'node:test'
import { runConsumer } from 'onceward'
import { runRelay } from 'onceward/outbox'
import { createPool, migrate } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { openKafka } from '../../packages/onceward/test/kafka/fixture.ts'
import { createDatabase, skipWithout } from '../../packages/onceward/test/services/services.ts'
import { orderBoard } from './order-board.ts'
import { moveOrder } from './shop.ts'

const states = ['placed', 'paid', 'shipped'] as const

describe('orders that publish their changes to Kafka', await skipWithout('postgres', 'kafka'), () => {
  it('every change is published once it is committed, in order, and applied once', async t => {
    const scene = await openScene(t)
    await scene.live('a', 'b', 'c')
    await scene.relay()
    await scene.board()
    await until('the board has all', async () => (await scene.boardRows()).length === 3)
    await until('every order is shipped', async () =>
      (await scene.boardRows()).every(row => row.state === 'shipped' && row.moves === 3),
    )
    const records = await scene.kafka.read(scene.topic)
    assert.equal(records.length, 9)
    const ofA = records.filter(({ key }) => key === 'a').map(({ headers }) => headers['message-type'])
    assert.deepEqual(
      ofA,
      states.map(state => `order.${state}`),
    )
  })

  it('what is rolled back is never published', async t => {
    const scene = await openScene(t)
    const wrong = { orderId: 'x', customer: 'c', state: 'lost' as never }
    await assert.rejects(moveOrder(scene.pool, scene.topic, wrong), /check constraint/)
    await scene.live('a')
    await scene.relay()
    await scene.published(3)
    assert.deepEqual(new Set((await scene.kafka.read(scene.topic)).map(({ key }) => key)), new Set(['a']))
  })

  it('a relay killed after Kafka confirmed publishes again under the same ids: the board moves once', async t => {
    const scene = await openScene(t)
    await scene.live('a', 'b')
    assert.equal(await scene.relayDiesAt('relay.published'), 'SIGKILL')
    await scene.relay()
    await scene.published(12)
    await scene.board()
    await until('every order is shipped', async () => {
      const rows = await scene.boardRows()
      return rows.length === 2 && rows.every(row => row.state === 'shipped')
    })
    assert.deepEqual(await scene.boardRows(), [
      { order_id: 'a', state: 'shipped', version: 3, moves: 3 },
      { order_id: 'b', state: 'shipped', version: 3, moves: 3 },
    ])
  })
})

async function openScene(t: TestContext) {
  const kafka = await openKafka(t)
  const database = await createDatabase()
  const pool = createPool(database.url, { max: 4 })
  const closing: (() => unknown)[] = []
  t.after(async () => {
    for (const close of closing.reverse()) await close()
    await pool.end()
    await database.drop()
  })
  await migrate(pool)
  await pool.query(readFileSync(new URL('tables.sql', import.meta.url), 'utf8'))
  const topic = await kafka.createTopic({ partitions: 3 })
  const addresses = { databaseUrl: database.url, kafkaBootstrap: kafka.bootstrap }
  return {
    kafka,
    pool,
    topic,
    async live(...orders: string[]) {
      for (const state of states)
        for (const orderId of orders) await moveOrder(pool, topic, { orderId, customer: 'c', state })
    },
    async relay() {
      const relay = await runRelay({ ...addresses, brokers: ['kafka'], relayLeaseMs: 4_500 })
      closing.push(() => relay.drain())
    },
    async board() {
      const running = await runConsumer(orderBoard({ topic, group: topic }), addresses)
      closing.push(() => running.drain())
    },
    async relayDiesAt(point: string): Promise<NodeJS.Signals | null> {
      const child = fork(new URL('./test/relay-process.ts', import.meta.url), {
        env: { ...process.env, RELAY_ORDERS: JSON.stringify({ ...addresses, point }) },
      })
      closing.push(() => child.kill('SIGKILL'))
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
      return child.signalCode
    },
    published: (count: number) =>
      until(`${count} records are in the topic`, async () => {
        const left = await pool.query('select from onceward.outbox')
        return left.rows.length === 0 && (await kafka.read(topic)).length === count
      }),
    boardRows: async () =>
      (await pool.query('select order_id, state, version, moves from order_board order by 1')).rows,
  }
}

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it, type TestContext } from 'node:test'
import amqp from 'amqplib'
import {
  type ConsumerContract,
  defineConsumer,
  type RunOptions,
  runConsumer,
  type SqlTransaction,
} from 'onceward'
import { topic } from 'onceward/kafka'
import { publishInTransaction, runRelay } from 'onceward/outbox'
import { postgresQueue, publish } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { openKafka } from '../kafka/fixture.ts'
import { kafkaBootstrap, rabbitmqUrl, skipWithout } from '../services/services.ts'
import { openScene, type Scene, startChild } from './scene.ts'

interface Order {
  id: string
  n: number
}

describe('publishing from a running consumer', await skipWithout(), () => {
  let scene: Scene
  let addresses: { databaseUrl: string; kafkaBootstrap: string; rabbitmqUrl: string }

  before(async () => {
    scene = await openScene()
    addresses = {
      databaseUrl: scene.url,
      kafkaBootstrap: await kafkaBootstrap(),
      rabbitmqUrl: await rabbitmqUrl(),
    }
    await scene.pool.query(
      'create table done (consumer text, id text, times integer, primary key (consumer, id))',
    )
  })
  after(() => scene.close())

  const contract = (
    name: string,
    changes: Partial<ConsumerContract<Order, SqlTransaction>>,
  ): ConsumerContract<Order, SqlTransaction> => ({
    name,
    owner: 'tests',
    risk: 'money',
    source: postgresQueue(name),
    identity: { id: m => m.id },
    ...changes,
  })
  const run = async (
    t: TestContext,
    one: ConsumerContract<Order, SqlTransaction>,
    options: Partial<RunOptions> = addresses,
  ) => {
    const running = await runConsumer(defineConsumer(one), { databaseUrl: scene.url, ...options })
    t.after(() => running.drain())
    return running
  }
  const count = (tx: SqlTransaction, consumer: string, id: string) =>
    tx.query(
      `insert into done values ($1, $2, 1) on conflict (consumer, id) do update set times = done.times + 1`,
      [consumer, id],
    )
  const empty = () =>
    until('the outbox is empty', async () => {
      const { rows } = await scene.pool.query('select count(*)::int as n from onceward.outbox')
      return rows[0].n === 0
    })

  it('one consumer on PostgreSQL publishes to Kafka, RabbitMQ and PostgreSQL', async t => {
    const kafka = await openKafka(t)
    const out = await kafka.createTopic({})
    const queue = `out.${randomUUID()}`
    const rabbit = await amqp.connect(addresses.rabbitmqUrl)
    const channel = await rabbit.createChannel()
    await channel.assertQueue(queue, { durable: true })
    t.after(async () => {
      await channel.deleteQueue(queue)
      await rabbit.close()
    })
    await run(
      t,
      contract('to_all', {
        effect: {
          publish: {
            log: { broker: 'kafka', topic: out },
            rabbit: { broker: 'rabbitmq', queue },
            own: { broker: 'postgres', queue: 'to_all.own' },
          },
        },
        async handle({ message, effects }) {
          for (const target of ['log', 'rabbit', 'own'])
            effects.publish(target, { key: 'k', body: { n: message.n }, type: 'Done' })
        },
      }),
    )
    await publish(scene.pool, 'to_all', [{ body: { id: 'o-1', n: 7 } }])
    await until('Kafka has it', async () => (await kafka.read(out)).length === 1)
    const [record] = await kafka.read(out)
    assert.deepEqual([record!.key, record!.value, record!.headers['message-type']], ['k', '{"n":7}', 'Done'])
    await empty()
    const got = await channel.get(queue, { noAck: true })
    assert.ok(got && got.properties.type === 'Done' && got.content.toString() === '{"n":7}')
    const { rows } = await scene.pool.query(
      `select m.message_id, convert_from(m.body, 'UTF8') as body from onceward.queue_message m join onceward.queue q on q.id = queue_id
       where q.name = 'to_all.own'`,
    )
    assert.deepEqual(
      rows.map(({ body }) => body),
      ['{"n":7}'],
    )
    assert.equal(
      new Set([record!.headers['message-id'], got.properties.messageId, rows[0].message_id]).size,
      3,
    )
  })

  it('names every address that is missing, and starts nothing', async t => {
    for (const name of ['ONCEWARD_KAFKA_BOOTSTRAP', 'ONCEWARD_RABBITMQ_URL']) {
      const given = process.env[name]
      delete process.env[name]
      t.after(() => {
        if (given !== undefined) process.env[name] = given
      })
    }
    const both = contract('no_addresses', {
      effect: {
        publish: { a: { broker: 'kafka', topic: 't' }, b: { broker: 'rabbitmq', queue: 'q' } },
      },
      handle() {},
    })
    // An address that is empty is not set, and not looked for in the environment.
    const none = { rabbitmqUrl: '', kafkaBootstrap: '' }
    await assert.rejects(
      run(t, both, none),
      /"no_addresses" publishes to Kafka \(ONCEWARD_KAFKA_BOOTSTRAP\) and RabbitMQ \(ONCEWARD_RABBITMQ_URL\)/,
    )
    await assert.rejects(
      runRelay({ databaseUrl: scene.url, brokers: ['kafka', 'postgres'], ...none }),
      /The relay publishes to Kafka \(ONCEWARD_KAFKA_BOOTSTRAP\), but no address/,
    )
  })

  it('a message published twice under one id is applied once by its consumer', async t => {
    const kafka = await openKafka(t)
    const out = await kafka.createTopic({})
    const { rows: known } = await scene.pool.query(`select onceward.default_destination('kafka') as name`)
    const child = startChild({
      url: scene.url,
      part: 'relay',
      broker: 'kafka',
      destination: known[0].name,
      kafka: kafka.bootstrap,
      killAt: 'relay.published',
      leaseMs: 1_500,
    })
    t.after(() => void child.process.kill('SIGKILL'))
    await publishInTransaction(
      scene.pool,
      { broker: 'kafka', topic: out },
      [1, 2, 3].map(n => ({ id: `twice-${n}`, key: 'k', body: { id: `twice-${n}`, n } })),
    )
    assert.equal(await child.ended, 'SIGKILL')
    const second = await runRelay({
      databaseUrl: scene.url,
      brokers: ['kafka'],
      kafkaBootstrap: kafka.bootstrap,
      relayLeaseMs: 4_500,
    })
    await empty()
    await second.drain()
    const copies = (await kafka.read(out)).map(({ headers }) => headers['message-id'])
    assert.deepEqual(copies, ['twice-1', 'twice-2', 'twice-3', 'twice-1', 'twice-2', 'twice-3'])
    const downstream = await run(
      t,
      contract('downstream', {
        source: topic(out, { group: out, start: 'earliest' }),
        identity: { id: { property: 'messageId' } },
        handle: async ({ envelope, tx }) => void (await count(tx, 'downstream', envelope.id)),
      }),
    )
    await until('all copies are decided', () => downstream.consumer!.tally.outcomes.duplicate === 3)
    const { rows } = await scene.pool.query(
      `select id, times from done where consumer = 'downstream' order by 1`,
    )
    assert.deepEqual(
      rows,
      [1, 2, 3].map(n => ({ id: `twice-${n}`, times: 1 })),
    )
  })

  it('rows for change data capture are left alone, and removed when they are old', async t => {
    const target = { broker: 'cdc', topic: 'captures' } as const
    await publishInTransaction(scene.pool, target, [
      { id: 'cdc-1', key: 'agg', type: 'Captured', body: { n: 1 } },
    ])
    const { rows } = await scene.pool.query(
      `select id, aggregatetype, aggregateid, type, convert_from(payload, 'UTF8') as payload from onceward.outbox_event`,
    )
    assert.deepEqual(rows, [
      { id: 'cdc-1', aggregatetype: 'captures', aggregateid: 'agg', type: 'Captured', payload: '{"n":1}' },
    ])
    const keeping = await runRelay({ databaseUrl: scene.url, brokers: ['cdc'], cdcKeepMs: 3_600_000 })
    await publishInTransaction(scene.pool, target, [{ id: 'cdc-2', body: 2 }])
    await keeping.drain()
    const left = async () => (await scene.pool.query('select from onceward.outbox')).rows.length
    assert.equal(await left(), 2)
    const removing = await runRelay({ databaseUrl: scene.url, brokers: ['cdc'], cdcKeepMs: 1 })
    t.after(() => removing.drain())
    await until('they are gone', async () => (await left()) === 0)
  })
})

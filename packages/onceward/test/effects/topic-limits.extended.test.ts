import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it, type TestContext } from 'node:test'
import { defineConsumer, realEnvironment, runConsumer, type SqlTransaction } from 'onceward'
import { postgresQueue, publish } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { openKafka } from '../kafka/fixture.ts'
import { skipWithout } from '../services/services.ts'
import { openScene, type Scene } from './scene.ts'

interface Order {
  id: string
  bytes: number
}

describe('effects.publish and the limit of the Kafka topic', await skipWithout('postgres', 'kafka'), () => {
  let scene: Scene
  before(async () => {
    scene = await openScene()
  })
  after(() => scene.close())

  const open = async (t: TestContext, bytesMax: string, parts?: readonly ('consumer' | 'relay')[]) => {
    const kafka = await openKafka(t)
    const topic = await kafka.createTopic({ configs: { 'max.message.bytes': bytesMax } })
    const name = `to_${randomUUID().replaceAll('-', '').slice(0, 20)}`
    const learned: unknown[] = []
    const env = realEnvironment()
    const log = {
      ...env.log,
      debug: (line: string, fields?: Readonly<Record<string, unknown>>) => {
        if (line === 'limits of Kafka topics read') learned.push(fields![topic])
      },
    }
    const consumer = defineConsumer<Order, SqlTransaction, never, 'out'>({
      name,
      owner: 'tests',
      risk: 'projection',
      source: postgresQueue(name),
      identity: { id: m => m.id },
      effect: { publish: { out: { broker: 'kafka', topic } } },
      handle: ({ message: { id, bytes }, effects }) =>
        effects.publish('out', { id, key: id, body: Buffer.alloc(bytes, 'x') }),
    })
    const running = await runConsumer(consumer, {
      databaseUrl: scene.url,
      kafkaBootstrap: kafka.bootstrap,
      env: { ...env, log },
      ...(parts && { parts }),
    })
    t.after(() => running.drain(10_000))
    return {
      kafka,
      topic,
      learned,
      put: (id: string, bytes: number) =>
        publish(scene.pool, name, [{ body: JSON.stringify({ id, bytes }) }]),
      held: async () =>
        (
          await scene.pool.query(
            `select message_id as id, error from onceward.held h join onceward.consumer c on c.id = h.consumer_id where c.name = $1`,
            [name],
          )
        ).rows as { id: string; error: string }[],
      waiting: async () =>
        (
          await scene.pool.query('select message_id as id from onceward.outbox where queue = $1', [topic])
        ).rows.map(({ id }) => id as string),
      sizes: async () => (await kafka.read(topic)).map(({ value }) => value?.length),
    }
  }

  it('a topic with a smaller limit: a message that does not fit fails by name, and its row is not written', async t => {
    const { put, held, waiting, sizes, topic } = await open(t, '20000')
    await put('large', 30_000)
    await put('small', 10_000)
    await until('the small one is out', async () => (await sizes()).length === 1)
    await until('the large one is set aside', async () => (await held()).length === 1)
    const [{ id, error }] = (await held()) as [{ id: string; error: string }]
    assert.equal(id, 'large')
    assert.match(error, /effects\.publish\("out"\): the record takes 3\d{4} bytes .* accepts 20000/)
    assert.ok(error.includes(`topic ${topic}`))
    assert.deepEqual(await waiting(), [])
  })

  it('a topic with a larger limit: a message of 2 MiB is published', async t => {
    const { put, held, sizes } = await open(t, String(4 * 1024 * 1024))
    await put('large', 2 * 1024 * 1024)
    await until('it is out or set aside', async () => (await sizes()).length + (await held()).length > 0)
    assert.deepEqual(await sizes(), [2 * 1024 * 1024])
  })

  it('a raised limit is learned once a message did not fit', async t => {
    const { kafka, topic, put, learned } = await open(t, '20000')
    assert.deepEqual(learned, [20_000], 'asked once at start')
    await kafka.alterTopic(topic, { 'max.message.bytes': '1000000' })
    await put('early', 30_000)
    await until('it is asked again', () => learned.length > 1)
    assert.deepEqual(learned, [20_000, 1_000_000])
    await put('late', 30_000)
    const ids = async () => (await kafka.read(topic)).map(({ headers }) => headers['message-id'])
    await until('it is out', async () => (await ids()).includes('late'))
  })

  it('a lowered limit is learned when the broker refuses', async t => {
    const { kafka, topic, put, held, waiting, learned } = await open(t, '1000000')
    await kafka.alterTopic(topic, { 'max.message.bytes': '20000' })
    await put('early', 30_000)
    await until('it is refused and asked again', () => learned.length > 1)
    assert.equal(learned[1], 20_000)
    await put('late', 30_000)
    await until('the next is not written', async () => (await held()).length === 1)
    assert.deepEqual(await waiting(), ['early'])
    await kafka.alterTopic(topic, { 'max.message.bytes': '1000000' })
    await until('the first leaves', async () => (await waiting()).length === 0)
  })

  it('a process without a relay reads the limit too', async t => {
    const { put, held, waiting } = await open(t, '20000', ['consumer'])
    await put('large', 30_000)
    await until('it is set aside', async () => (await held()).length === 1)
    assert.deepEqual(await waiting(), [])
  })
})

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Replay, runConsumer } from 'onceward'
import { topic } from 'onceward/kafka'
import { stream } from 'onceward/rabbitmq-stream'
import { until } from 'onceward/testing'
import type { Edge } from '../../src/ports/range-reader.ts'
import { openKafka } from '../kafka/fixture.ts'
import { createTestStream } from '../rabbitmq-stream/broker.ts'
import { kafkaBootstrap, rabbitmqStreamUrl, skipWithout } from '../services/services.ts'
import { facts, Scene } from './scene.ts'

describe('a campaign on Kafka', await skipWithout('postgres', 'kafka'), () => {
  test('applies the missing records between two offsets, and neither joins nor commits to the group', async t => {
    const scene = await Scene.open(t)
    const kafka = await openKafka(t)
    const name = await kafka.createTopic({ partitions: 2 })
    const all = facts(200)
    await kafka.produce(
      name,
      all.map((fact, index) => ({ value: JSON.stringify(fact), partition: index % 2 })),
    )
    const consumer = scene.contract({ source: topic(name, { start: 'earliest' }) })
    const bootstrap = await kafkaBootstrap()
    const live = await runConsumer(consumer, {
      databaseUrl: scene.url,
      kafkaBootstrap: bootstrap,
      parts: ['consumer'],
    })
    await until('all is applied', async () => (await scene.applied('live')).length === 200)
    await live.drain()
    const committed = await kafka.committed('facts.1', name)
    await scene.pool.query(`delete from onceward.inbox where message_id like '%7'`)
    await scene.pool.query(`delete from effect where id like '%7'`)
    const replay = await scene.replay(consumer, { kafkaBootstrap: bootstrap })
    const some = await scene.planned(replay, {
      selection: { of: 'log', start: { offsets: { 0: 10, 1: 10 } }, end: { offsets: { 0: 60, 1: 60 } } },
    })
    await replay.run(some)
    assert.deepEqual(await scene.outcomes(some), { applied: 10, duplicate: 90 })
    const rest = await scene.planned(replay)
    await kafka.produce(name, [{ value: JSON.stringify({ id: 'after the preview' }), partition: 0 }])
    await replay.run(rest)
    assert.deepEqual(await scene.outcomes(rest), { applied: 10, duplicate: 190 })
    const ahead = await scene.planned(replay)
    await assert.rejects(replay.run(ahead), /has not finished topic\.\w+\/0 100 to 101/)
    await repairsTwo(scene, replay, { offsets: { 0: 100, 1: 100 } })
    assert.deepEqual(await scene.rows('select max(times) as most from effect'), [{ most: 1 }])
    assert.deepEqual(await kafka.committed('facts.1', name), committed)
    await assert.rejects(
      scene.planned(replay, {
        selection: { of: 'log', start: { offsets: { 0: 10 } }, end: { offsets: { 0: 900 } } },
      }),
      /now begins at 0 and ends before 101/,
    )
  })

  test('identifies records by position as the live consumer does, from a given time', async t => {
    const scene = await Scene.open(t)
    const kafka = await openKafka(t)
    const name = await kafka.createTopic()
    await kafka.produce(name, [
      { value: '{"id":"old"}', timestampMs: 1_600_000_000_000 },
      { value: '{"id":"new"}', timestampMs: 1_700_000_000_000 },
    ])
    const bootstrap = await kafkaBootstrap()
    const consumer = scene.contract({
      source: topic(name, { start: 'earliest' }),
      identity: { id: 'position' },
    })
    const live = await runConsumer(consumer, {
      databaseUrl: scene.url,
      kafkaBootstrap: bootstrap,
      parts: ['consumer'],
    })
    await until('all is applied', async () => (await scene.applied('live')).length === 2)
    await live.drain()
    const replay = await scene.replay(consumer, { kafkaBootstrap: bootstrap })
    const id = await scene.planned(replay, {
      selection: { of: 'log', start: { timestampMs: 1_650_000_000_000 }, end: 'next' },
    })
    await replay.run(id)
    assert.deepEqual(await scene.outcomes(id), { duplicate: 1 })
  })

  test('whose records are lost fails with that error, and leaves the live position unchanged', async t => {
    const scene = await Scene.open(t)
    const kafka = await openKafka(t)
    const name = await kafka.createTopic()
    await kafka.produce(
      name,
      facts(50).map(fact => JSON.stringify(fact)),
    )
    const bootstrap = await kafkaBootstrap()
    const silent = scene.contract({ source: topic(name, { start: 'earliest' }), effect: {} })
    const replay = await scene.replay(silent, { kafkaBootstrap: bootstrap })
    const id = await scene.planned(replay)
    await kafka.deleteRecords(name, 0, 30)
    await assert.rejects(replay.run(id), /no longer has records/)
    const [row] = await scene.rows('select state, failure from onceward.campaign')
    assert.equal(row!.state, 'failed')
    assert.deepEqual(
      await scene.rows('select from onceward.loss union all select from onceward.checkpoint'),
      [],
    )
  })
})

describe('a campaign on a stream', await skipWithout('postgres', 'rabbitmq'), () => {
  test('applies the missing records up to the end at the preview', async t => {
    const scene = await Scene.open(t)
    const made = await createTestStream(t)
    const all = facts(300)
    await made.send(...all.slice(0, 150).map(fact => JSON.stringify(fact)))
    await made.send(...all.slice(150).map(fact => JSON.stringify(fact)))
    const url = (await rabbitmqStreamUrl())!
    const consumer = scene.contract({ source: stream(made.name, { start: 'first' }) })
    const live = await runConsumer(consumer, {
      databaseUrl: scene.url,
      rabbitmqStreamUrl: url,
      parts: ['consumer'],
    })
    await until('all is applied', async () => (await scene.applied('live')).length === 300)
    await live.drain()
    await scene.pool.query(`delete from onceward.inbox where message_id like '%7'`)
    await scene.pool.query(`delete from effect where id like '%7'`)
    const replay = await scene.replay(consumer, { rabbitmqStreamUrl: url })
    const id = await scene.planned(replay)
    await made.send('{"id":"after the preview"}')
    await replay.run(id)
    assert.deepEqual(await scene.outcomes(id), { applied: 30, duplicate: 270 })
    const some = await scene.planned(replay, {
      selection: {
        of: 'log',
        start: { offsets: { [made.name]: 100 } },
        end: { offsets: { [made.name]: 110 } },
      },
    })
    await replay.run(some)
    assert.deepEqual(await scene.outcomes(some), { duplicate: 10 })
    const ahead = await scene.planned(replay)
    await assert.rejects(replay.run(ahead), /has not finished test-\w+ 300 to/)
    await repairsTwo(scene, replay, { offsets: { [made.name]: 300 } })
    assert.deepEqual(await scene.rows('select max(times) as most from effect'), [{ most: 1 }])
  })
})

/** What is selected stands apart: between two of them the log goes on with others. */
async function repairsTwo(scene: Scene, replay: Replay, end: Edge): Promise<void> {
  const keys = ['f00005', 'f00123']
  await scene.pool.query('delete from onceward.inbox where message_id = any($1)', [keys])
  await scene.pool.query('delete from effect where id = any($1)', [keys])
  const id = await scene.planned(replay, {
    mode: 'repair',
    selection: { of: 'log', start: 'first', end, keys },
  })
  await replay.run(id)
  assert.deepEqual(await scene.outcomes(id), { applied: 2 })
  assert.deepEqual(await scene.rows(`select id from effect where mode = 'repair' order by id`), [
    { id: keys[0] },
    { id: keys[1] },
  ])
}

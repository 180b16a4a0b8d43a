import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { runConsumer } from 'onceward'
import { file } from 'onceward/file'
import { topic } from 'onceward/kafka'
import { until } from 'onceward/testing'
import { previewText } from '../../src/cli/commands/replay/text.ts'
import { openKafka } from '../kafka/fixture.ts'
import { kafkaBootstrap, skipWithout } from '../services/services.ts'
import { factContract, facts, Scene } from './scene.ts'
import { waitingConsumer } from './waiting-consumer.ts'

const request = {
  mode: 'replay',
  selection: { of: 'log', start: 'first', end: 'next' },
  reason: 'a test',
} as const

const asked = 'select count(distinct effect_key)::integer as count from onceward.ledger'

describe('a campaign whose range ends after the live position', await skipWithout('postgres'), () => {
  test('is named by the preview and refused, where external effects would never be requested', async t => {
    const scene = await Scene.open(t)
    const consumer = scene.contract()
    await scene.write(...facts(10))
    await scene.live(consumer)
    const replay = await scene.replay(consumer)
    const level = await replay.create(request)
    const seen = await replay.preview(level.id)
    assert.deepEqual(seen.aheadOfLive, [])
    assert.doesNotMatch(previewText(seen), /WARNING/)
    assert.equal((await replay.run(level.id)).state, 'ran')

    await scene.write(...facts(5, 'late'))
    const [range] = seen.plan.ranges
    const ahead = await replay.create(request)
    const beyond = await replay.preview(ahead.id)
    const [whole] = beyond.plan.ranges
    assert.deepEqual(beyond.aheadOfLive, [{ ...whole, from: range!.to }])
    assert.match(previewText(beyond), /WARNING: The live consumer has not finished .* 160 to 255/)
    for (const other of [{ mode: 'forensic' }, { mode: 'backfill', effects: 'requested' }] as const) {
      const harmless = await replay.create({ ...request, ...other })
      assert.deepEqual((await replay.preview(harmless.id)).aheadOfLive, [], other.mode)
    }
    await assert.rejects(
      replay.run(ahead.id),
      /has not finished .* 160 to 255.*Run the live consumer.*earlier end/,
    )
    assert.deepEqual(await scene.rows('select state from onceward.campaign where id = $1', ahead.id), [
      { state: 'previewed' },
    ])
    await scene.live(consumer)
    assert.deepEqual(await scene.rows(asked), [{ count: 15 }])
    await replay.run(ahead.id)
    assert.deepEqual(await scene.outcomes(ahead.id), { duplicate: 15 })
  })

  test('waits for a running live consumer, and applies nothing before it', async t => {
    const scene = await Scene.open(t)
    await scene.write(...facts(30))
    const open = Promise.withResolvers<void>()
    const slow = scene.contract({
      source: file(scene.path),
      handle: async context => {
        await open.promise
        return factContract('').handle!(context)
      },
    })
    const live = await runConsumer(slow, { databaseUrl: scene.url, parts: ['consumer'] })
    const { env, untilItWaits } = waitingConsumer()
    const replay = await scene.replay(scene.contract(), { env })
    const ran = replay.run(await scene.planned(replay))
    await untilItWaits(ran).finally(open.resolve)
    assert.equal((await ran).state, 'ran')
    await live.drain()
    assert.equal((await scene.applied('live')).length, 30)
    assert.deepEqual(await scene.rows(asked), [{ count: 30 }])
  })
})

describe('the live position on Kafka', await skipWithout('postgres', 'kafka'), () => {
  test("is the group's where the store knows less", async t => {
    const scene = await Scene.open(t)
    const kafka = await openKafka(t)
    const name = await kafka.createTopic()
    const send = (prefix: string) =>
      kafka.produce(
        name,
        facts(20, prefix).map(fact => ({ value: JSON.stringify(fact), partition: 0 })),
      )
    await send('a')
    const consumer = scene.contract({ source: topic(name, { start: 'earliest' }) })
    const bootstrap = (await kafkaBootstrap())!
    const live = await runConsumer(consumer, {
      databaseUrl: scene.url,
      kafkaBootstrap: bootstrap,
      parts: ['consumer'],
    })
    await until('the first are applied', async () => (await scene.applied('live')).length === 20)
    await send('b')
    await until('all are applied', async () => (await scene.applied('live')).length === 40)
    const [stored] = await scene.rows<{ next: string }>('select next from onceward.checkpoint')
    assert.ok(Number(stored!.next) < 40, 'the store does not know the position')
    const replay = await scene.replay(consumer, { kafkaBootstrap: bootstrap })
    const id = await scene.planned(replay)
    assert.equal((await replay.run(id)).state, 'ran')
    assert.deepEqual(await scene.outcomes(id), { duplicate: 40 })
    // Live is at its end; the marker of the transaction is one more place.
    const transaction = await kafka.transaction(name)
    await transaction.send({ value: JSON.stringify({ id: 'c' }), partition: 0 })
    await transaction.commit()
    await until('it is applied', async () => (await scene.applied('live')).length === 41)
    const last = await scene.planned(replay)
    assert.equal((await replay.run(last)).state, 'ran')
    assert.deepEqual(await scene.outcomes(last), { duplicate: 41 })
    await live.drain()
  })

  test("is the store's where the store keeps it, for any position of the group", async t => {
    const scene = await Scene.open(t)
    const kafka = await openKafka(t)
    const name = await kafka.createTopic()
    await kafka.produce(
      name,
      facts(20).map(fact => ({ value: JSON.stringify(fact), partition: 0 })),
    )
    const consumer = scene.contract({
      source: topic(name, { start: 'earliest' }),
      settle: { when: 'with effect' },
    })
    const options = { databaseUrl: scene.url, kafkaBootstrap: (await kafkaBootstrap())! }
    const live = await runConsumer(consumer, { ...options, parts: ['consumer'] })
    await until('all are applied', async () => (await scene.applied('live')).length === 20)
    const group = `${consumer.name}.${consumer.generation}`
    await until('the group was told', async () => (await kafka.committed(group, name)).get(0) === 20)
    await live.drain()
    // As a restored backup has it.
    await scene.pool.query(`update onceward.checkpoint set next = '5'`)
    const replay = await scene.replay(consumer, { kafkaBootstrap: options.kafkaBootstrap })
    const { id } = await replay.create({
      mode: 'replay',
      selection: { of: 'log', start: 'first', end: 'next' },
      reason: 'a test',
    })
    const { aheadOfLive } = await replay.preview(id)
    assert.deepEqual(
      aheadOfLive.map(({ from, to }) => [from, to]),
      [['5', '20']],
    )
  })

  test('passes messages that wait in a retry topic: a campaign leaves those to live', async t => {
    const scene = await Scene.open(t)
    const kafka = await openKafka(t)
    const name = await kafka.createTopic()
    await kafka.createTopic({ name: `${name}.retry.100` })
    await kafka.produce(name, ['{"id":"good"}', '{"id":"bad"}'])
    const options = { databaseUrl: scene.url, kafkaBootstrap: (await kafkaBootstrap())! }
    const contract = {
      source: topic(name, { start: 'earliest' }),
      failure: { mode: 'retry topic' as const, delayMs: 100, delayMaxMs: 100, attemptsMax: 5 },
    }
    const failing = scene.contract({
      ...contract,
      handle: async context => {
        if (context.message.id === 'bad') throw new Error('not today')
        return factContract('').handle!(context)
      },
    })
    const first = await runConsumer(failing, { ...options, parts: ['consumer'] })
    const copies = 'select from onceward.outbox where queue like $1'
    await until('it waits', async () => (await scene.rows(copies, '%.retry.100')).length === 1)
    await until('the other is applied', async () => (await scene.applied('live')).length === 1)
    const read = 'select from onceward.checkpoint where partition = $1'
    await until('the level is read', async () => (await scene.rows(read, `${name}.retry.100/0`)).length === 1)
    await first.drain()
    const consumer = scene.contract(contract)
    const replay = await scene.replay(consumer, options)
    const id = await scene.planned(replay)
    await replay.run(id)
    assert.deepEqual(await scene.outcomes(id), { 'already held': 1, duplicate: 1 })
    // The same although the contract does not wait there any more: its next start reads what is left.
    const changed = await scene.replay(scene.contract({ source: contract.source }), options)
    const later = await scene.planned(changed)
    await changed.run(later)
    assert.deepEqual(await scene.outcomes(later), { 'already held': 1, duplicate: 1 })
    const live = await runConsumer(consumer, { ...options, parts: ['consumer', 'relay'] })
    await until('it came back', async () => (await scene.applied('live')).length === 2, {
      deadlineMs: 60_000,
    })
    assert.deepEqual(await scene.rows(asked), [{ count: 2 }])
    await live.drain()
  })
})

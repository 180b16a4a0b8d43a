import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import {
  defineConsumer,
  realEnvironment,
  reject,
  retryAfter,
  runConsumer,
  type SqlTransaction,
} from 'onceward'
import { topic } from 'onceward/kafka'
import { createPool, migrate } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { openKafka, randomName } from '../kafka/fixture.ts'
import { createDatabase, skipWithout } from '../services/services.ts'
import { killRetryChild, startRetryChild } from './start-retry-child.ts'

const count = 200
/** So long that on a slow machine, too, the short one comes and is done meanwhile. */
const longMs = 12_800

describe('failure.mode retry topic', await skipWithout('postgres', 'kafka'), () => {
  test('two failures each, consumers and relays killed in between: every effect once, nothing left anywhere', {
    timeout: 180_000,
  }, async t => {
    const scene = await openScene(t, [100, 200])
    await scene.pool.query('create table effect (id text not null)')
    await scene.pool.query('create table try (id text not null)')
    await scene.kafka.produce(
      scene.name,
      Array.from({ length: count }, (_, n) => ({
        value: JSON.stringify({ id: `m${n}` }),
        key: `k${n % 7}`,
        partition: n % 2,
      })),
    )
    const start = (part: 'consumer' | 'relay') =>
      startRetryChild(
        {
          databaseUrl: scene.databaseUrl,
          kafkaBootstrap: scene.kafka.bootstrap,
          declaration: topic(scene.name, { group: scene.name, start: 'earliest', sessionTimeoutMs: 6_000 }),
          part,
        },
        scene.ends,
      )
    const children = { consumer: await start('consumer'), relay: await start('relay') }
    const kills = [
      ['consumer', 'try', 40],
      ['relay', 'try', 250],
      ['consumer', 'effect', 20],
      ['relay', 'effect', 100],
    ] as const
    for (const [part, table, share] of kills) {
      await until(
        `${share} in ${table}`,
        async () => (await scene.count(`select count(*)::int as count from ${table}`)) >= share,
        { deadlineMs: 60_000 },
      )
      await killRetryChild(children[part])
      children[part] = await start(part)
    }
    const applied = () => scene.count('select count(distinct id)::int as count from effect')
    await until('all are applied', async () => (await applied()) === count, { deadlineMs: 90_000 })
    await until('nothing waits', async () => {
      const outbox = await scene.count('select count(*)::int as count from onceward.outbox')
      return outbox === 0 && (await scene.done(200)) && (await scene.done(100))
    })
    for (const child of Object.values(children)) await killRetryChild(child)
    assert.equal(await scene.count('select count(*)::int as count from effect'), count)
    assert.equal(await scene.count('select count(*)::int as count from onceward.held'), 0)
  })

  test('a long delay does not hold back a short one, copies return unchanged, and the dead letter names the origin', {
    timeout: 120_000,
  }, async t => {
    const scene = await openScene(t, [100, 200, 400, 800, 1_600, 3_200, 6_400, longMs])
    const dead = await scene.kafka.createTopic({ name: `${scene.name}.dead` })
    const seen: { id: string; atMs: number; facts: unknown }[] = []
    const ended: string[] = []
    const consumer = defineConsumer<{ id: string; waitMs: number }, SqlTransaction>({
      name: 'notes',
      owner: 'tests',
      risk: 'projection',
      source: topic(scene.name, { group: scene.name, start: 'earliest' }),
      identity: { id: m => m.id, eventId: (_m, { key }) => key },
      message: { digestHeaders: ['trace'] },
      failure: { mode: 'retry topic', delayMs: 100, delayMaxMs: longMs, deadLetter: dead },
      handle: ({ message: { id, waitMs }, envelope }) => {
        const { headers, properties, eventId, origin, position } = envelope
        const first = !seen.some(one => one.id === id)
        const facts = { headers: { ...headers }, properties, eventId, origin, position }
        seen.push({ id, atMs: Date.now(), facts })
        if (first) return retryAfter(waitMs)
        ended.push(id)
        return id === 'long' ? reject('no such account') : undefined
      },
    })
    const running = await runConsumer(consumer, {
      databaseUrl: scene.databaseUrl,
      kafkaBootstrap: scene.kafka.bootstrap,
      env: realEnvironment(),
    })
    scene.ends.push(() => running.drain(10_000))
    const put = (id: string, waitMs: number) =>
      scene.kafka.produce(scene.name, [
        {
          value: JSON.stringify({ id, waitMs }),
          key: Buffer.from([255, 1]),
          headers: { trace: Buffer.from([0, 1, 255]), 'correlation-id': 'c' },
          timestampMs: 1_700_000_000_123,
          partition: 1,
        },
      ])
    await put('long', 12_000)
    await until('the long one waits', async () => (await scene.end(longMs)) === 1)
    await put('short', 90)
    await until('both came back', () => ended.length === 2)
    assert.deepEqual(ended, ['short', 'long'])
    const [long, short] = ['long', 'short'].map(id => seen.filter(one => one.id === id))
    for (const [first, second] of [long!, short!]) assert.deepEqual(second!.facts, first!.facts)
    assert.ok(long![1]!.atMs - long![0]!.atMs >= longMs)
    assert.ok(short![1]!.atMs - short![0]!.atMs >= 100)

    await until('the copy is there', async () => (await scene.kafka.endOffset(dead, 0)) === 1)
    const [copy] = await scene.kafka.read(dead)
    const { headers } = copy!
    assert.deepEqual(
      ['topic', 'partition', 'offset'].map(name => headers[`kafka_dlt-original-${name}`]),
      [scene.name, '\0\0\0\x01', '\0'.repeat(8)],
    )
    assert.equal(headers['kafka_dlt-exception-message'], 'no such account')
    assert.equal(headers['onceward-retry'], undefined)
  })
})

async function openScene(t: TestContext, levels: readonly number[]) {
  const kafka = await openKafka(t)
  const database = await createDatabase()
  const pool = createPool(database.url, { max: 3 })
  await migrate(pool)
  const ends: (() => Promise<unknown>)[] = []
  t.after(async () => {
    for (const end of ends.reverse()) await end()
    await pool.end()
    await database.drop()
  })
  const name = randomName('rounds')
  await kafka.createTopic({ name, partitions: 2 })
  for (const level of levels) await kafka.createTopic({ name: `${name}.retry.${level}` })
  const end = (level: number) => kafka.endOffset(`${name}.retry.${level}`, 0)
  return {
    kafka,
    databaseUrl: database.url,
    pool,
    ends,
    name,
    end,
    /** Whether the group of the level has told that it is through. */
    done: async (level: number) => {
      const told = await kafka.committed(`${name}.retry.${level}`, `${name}.retry.${level}`)
      return told.get(0) === (await end(level))
    },
    count: async (sql: string): Promise<number> => (await pool.query(sql)).rows[0].count,
  }
}

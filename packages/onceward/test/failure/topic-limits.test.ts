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

const mebibyte = 1024 * 1024
const small = { 'max.message.bytes': '20000' }
const large = { 'max.message.bytes': String(4 * mebibyte) }

interface Note {
  id: string
  text: string
}

describe('copies and the limits of their Kafka topics', await skipWithout('postgres', 'kafka'), () => {
  test('a retry copy too large for its level is kept in the store, and one that fits is published', {
    timeout: 120_000,
  }, async t => {
    const scene = await openScene(t, { levels: { 100: small, 200: large } })
    const seen: string[] = []
    await scene.run(({ id }) => {
      seen.push(id)
      const tries = seen.filter(one => one === id).length
      return tries === 1 ? retryAfter(id === 'next' ? 190 : 90) : undefined
    })
    await scene.put('fits', 10_000)
    await scene.put('wide', 30_000)
    await scene.put('next', 30_000)
    await until('each came twice', () => seen.length === 6)
    assert.deepEqual(await scene.sizes('retry.100'), [scene.bytesOf('fits', 10_000)], 'only what fits')
    assert.deepEqual(await scene.sizes('retry.200'), [scene.bytesOf('next', 30_000)], 'each by its own level')
    await until('nothing is left', async () => (await scene.left()) === 0)
  })

  test('a level with a limit of 4 MiB accepts a retry copy of 1.5 MiB', { timeout: 120_000 }, async t => {
    const scene = await openScene(t, { levels: { 100: large, 200: large }, source: large })
    const seen: string[] = []
    await scene.run(({ id }) => {
      seen.push(id)
      return seen.length === 1 ? retryAfter(90) : undefined
    })
    await scene.put('big', 1.5 * mebibyte)
    await until('it came twice', () => seen.length === 2)
    assert.deepEqual(await scene.sizes('retry.100'), [scene.bytesOf('big', 1.5 * mebibyte)])
  })

  test('a dead letter too large for its topic drops headers, then the body', {
    timeout: 120_000,
  }, async t => {
    const scene = await openScene(t, { levels: { 100: {}, 200: {} }, dead: small })
    await scene.run(() => reject('not ours'))
    const note = 'n'.repeat(15_000)
    await scene.put('whole', 5_000, { note: 'short' })
    await scene.put('headers', 10_000, { note })
    await scene.put('body', 30_000, { note: 'short' })
    await scene.put('both', 30_000, { note: 'n'.repeat(25_000) })
    await until('four copies', async () => (await scene.sizes('dead')).length === 4)
    const copies = (await scene.kafka.read(`${scene.name}.dead`)).map(({ value, headers }) => [
      headers['message-id'],
      value?.length,
      headers.note?.length,
      headers['onceward-headers'] !== undefined,
      headers['onceward-body'] !== undefined,
      headers['onceward-code'] !== undefined && headers['onceward-held-id'] !== undefined,
    ])
    const sent = ['whole', 'headers', 'body', 'both']
    copies.sort(([a], [b]) => sent.indexOf(String(a)) - sent.indexOf(String(b)))
    assert.deepEqual(copies, [
      ['whole', scene.bytesOf('whole', 5_000), 5, false, false, true],
      ['headers', scene.bytesOf('headers', 10_000), undefined, true, false, true],
      ['body', 0, 5, false, true, true],
      ['both', 0, undefined, true, true, true],
    ])
    assert.equal(await scene.left(), 4, 'the messages themselves are held, whole')
    const { rows } = await scene.pool.query(
      `select octet_length(body) as bytes from onceward.held where message_id = 'both'`,
    )
    assert.equal(rows[0].bytes, scene.bytesOf('both', 30_000))
  })

  test('a dead-letter topic with a limit of 4 MiB gets a letter of 1.5 MiB complete', {
    timeout: 120_000,
  }, async t => {
    const scene = await openScene(t, { levels: { 100: {}, 200: {} }, source: large, dead: large })
    await scene.run(() => reject('not ours'))
    await scene.put('big', 1.5 * mebibyte, { note: 'n'.repeat(20_000) })
    await until('the copy', async () => (await scene.sizes('dead')).length === 1)
    const [copy] = await scene.kafka.read(`${scene.name}.dead`)
    assert.deepEqual(
      [copy!.value?.length, copy!.headers.note?.length],
      [scene.bytesOf('big', 1.5 * mebibyte), 20_000],
    )
  })
})

type Configs = Readonly<Record<string, string>>

async function openScene(
  t: TestContext,
  topics: { levels: Readonly<Record<number, Configs>>; source?: Configs; dead?: Configs },
) {
  const kafka = await openKafka(t)
  const database = await createDatabase()
  const pool = createPool(database.url, { max: 3 })
  await migrate(pool)
  const ends: (() => Promise<unknown>)[] = []
  t.after(async () => {
    for (const end of ends) await end()
    await pool.end()
    await database.drop()
  })
  const name = randomName('limits')
  await kafka.createTopic({ name, configs: topics.source ?? {} })
  const dead = await kafka.createTopic({ name: `${name}.dead`, configs: topics.dead ?? {} })
  for (const [level, configs] of Object.entries(topics.levels))
    await kafka.createTopic({ name: `${name}.retry.${level}`, configs })
  const textOf = (id: string, bytes: number) => JSON.stringify({ id, text: 'x'.repeat(bytes) })
  return {
    kafka,
    pool,
    name,
    bytesOf: (id: string, bytes: number) => textOf(id, bytes).length,
    put: (id: string, bytes: number, headers = {}) =>
      kafka.produce(name, [{ value: textOf(id, bytes), headers }]),
    sizes: async (of: string) => (await kafka.read(`${name}.${of}`)).map(({ value }) => value?.length),
    left: async (): Promise<number> =>
      (await pool.query('select count(*)::int as n from onceward.held')).rows[0].n,
    run: async (handle: (message: Note) => ReturnType<typeof retryAfter | typeof reject> | undefined) => {
      const consumer = defineConsumer<Note, SqlTransaction>({
        name: 'limits',
        owner: 'tests',
        risk: 'projection',
        source: topic(name, { group: name, start: 'earliest' }),
        identity: { id: m => m.id },
        message: { limits: { bytesMax: 4 * mebibyte, headerBytesMax: 64 * 1024 } },
        failure: { mode: 'retry topic', delayMs: 100, delayMaxMs: 200, deadLetter: dead },
        handle: ({ message }) => handle(message),
      })
      const running = await runConsumer(consumer, {
        databaseUrl: database.url,
        kafkaBootstrap: kafka.bootstrap,
        env: realEnvironment(),
      })
      ends.push(() => running.drain(10_000))
    },
  }
}

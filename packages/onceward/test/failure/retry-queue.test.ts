import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { ConfirmChannel } from 'amqplib'
import amqp from 'amqplib'
import {
  type ConsumerContract,
  defineConsumer,
  realEnvironment,
  reject,
  retryAfter,
  runConsumer,
  type SqlTransaction,
} from 'onceward'
import { createPool, migrate } from 'onceward/postgres'
import { queue } from 'onceward/rabbitmq'
import { until } from 'onceward/testing'
import {
  assertHeaders,
  namedLikeInherited,
  nestedPrototypes,
} from '../../src/testing/conformance/hostile-headers.ts'
import { manage, openQueue, randomName } from '../rabbitmq/broker.ts'
import { createDatabase, rabbitmqUrl, skipWithout } from '../services/services.ts'
import { killRetryChild as kill, startRetryChild } from './start-retry-child.ts'

interface Note {
  readonly id: string
  readonly waitMs?: number
}

interface Scene {
  readonly databaseUrl: string
  readonly url: string
  readonly pool: ReturnType<typeof createPool>
  readonly channel: ConfirmChannel
  readonly queue: string
  readonly level: (ms: number) => string
  /** What is to be ended before the scene is, the last first. */
  readonly ends: (() => Promise<unknown>)[]
  count(sql: string): Promise<number>
  depth(name: string): Promise<number>
}

/** So long that on a slow machine, too, the short one comes and is done meanwhile. */
const longMs = 12_800
const quorum = { durable: true, arguments: { 'x-queue-type': 'quorum', 'x-delivery-limit': -1 } }

describe('failure.mode retry queue', await skipWithout('postgres', 'rabbitmq'), () => {
  test('two failures each, consumers and relays killed in between: every effect once, nothing left anywhere', {
    timeout: 180_000,
  }, async t => {
    const scene = await openScene(t, [100, 200])
    await scene.pool.query('create table effect (id text not null)')
    await scene.pool.query('create table try (id text not null)')
    const count = 200
    for (let n = 0; n < count; n++)
      scene.channel.sendToQueue(scene.queue, Buffer.from(JSON.stringify({ id: `m${n}` })))
    await scene.channel.waitForConfirms()
    const start = (part: 'consumer' | 'relay') =>
      startRetryChild(
        { databaseUrl: scene.databaseUrl, rabbitmqUrl: scene.url, declaration: queue(scene.queue), part },
        scene.ends,
      )
    const children = { consumer: await start('consumer'), relay: await start('relay') }
    const kills = [
      ['consumer', 'try', 40],
      ['relay', 'try', 250],
      ['consumer', 'effect', 20],
      ['relay', 'effect', 60],
      ['consumer', 'effect', 120],
    ] as const
    for (const [part, table, share] of kills) {
      await until(`${share} in ${table}`, async () => {
        return (await scene.count(`select count(*)::int as count from ${table}`)) >= share
      })
      await kill(children[part])
      children[part] = await start(part)
    }
    const applied = () => scene.count('select count(distinct id)::int as count from effect')
    await until('all are applied', async () => (await applied()) === count, { deadlineMs: 90_000 })
    await until('nothing waits', async () => {
      const depths = [scene.queue, scene.level(100), scene.level(200)].map(scene.depth)
      const outbox = scene.count('select count(*)::int as count from onceward.outbox')
      return (await Promise.all([...depths, outbox])).every(left => left === 0)
    })
    for (const child of Object.values(children)) await kill(child)
    assert.equal(await scene.count('select count(*)::int as count from effect'), count)
    assert.equal(await scene.count('select count(*)::int as count from onceward.held'), 0)
  })

  test('a business key is free between two tries: a resend is applied, and the returning copy is its duplicate', async t => {
    const scene = await openScene(t, [100, 200])
    const applied: string[] = []
    const isMarked = (id: string, status: string) =>
      scene
        .count(
          `select count(*)::int as count from onceward.inbox where message_id = '${id}' and status = '${status}'`,
        )
        .then(count => count === 1)
    await run(scene, {
      identity: { id: (m: Note) => m.id, businessKey: () => 'cap-1' },
      failure: { mode: 'retry queue', delayMs: 100, delayMaxMs: 200, attemptsMax: 1_000 },
      handle: ({ message }) => {
        if (message.id === 'a' && applied.length === 0) return retryAfter(100)
        applied.push(message.id)
        return undefined
      },
    })
    const put = (id: string) => scene.channel.sendToQueue(scene.queue, Buffer.from(JSON.stringify({ id })))
    put('a')
    const tries = `select count(*)::int as count from onceward.attempt where message_id = 'a'`
    await until('the first has failed', async () => (await scene.count(tries)) > 0)
    put('b')
    await until('the resend is applied', () => isMarked('b', 'applied'))
    await until('the first is its duplicate', () => isMarked('a', 'duplicate'), { deadlineMs: 60_000 })
    assert.ok(!applied.includes('a'))
  })

  test('a long delay does not hold back a short one, levels are as declared, and copies return unchanged', async t => {
    const scene = await openScene(t, [100, 200, 400, 800, 1_600, 3_200, 6_400, longMs])
    const seen: { id: string; atMs: number; facts: unknown }[] = []
    const applied: string[] = []
    await run(scene, {
      message: { digestHeaders: ['trace'] },
      identity: { id: (m: Note) => m.id, eventId: (_m, { key }) => key },
      failure: { mode: 'retry queue', delayMs: 100, delayMaxMs: longMs },
      handle: ({ message, envelope }) => {
        const { headers, properties, eventId: key } = envelope
        const first = !seen.some(one => one.id === message.id)
        seen.push({ id: message.id, atMs: performance.now(), facts: { headers, properties, key } })
        if (first) return retryAfter(message.waitMs!)
        applied.push(message.id)
        return undefined
      },
    })
    const headers = { trace: Buffer.from([0, 1, 255]), 'x-death': [{ queue: 'other', count: 4 }], n: 7 }
    const timestamp = 1_700_000_000_123
    const put = (note: Note) =>
      scene.channel.publish(`${scene.queue}.x`, 'orders.eu', Buffer.from(JSON.stringify(note)), {
        headers,
        timestamp,
        correlationId: 'c',
      })
    await scene.channel.assertExchange(`${scene.queue}.x`, 'topic', { autoDelete: true })
    await scene.channel.bindQueue(scene.queue, `${scene.queue}.x`, '#')
    put({ id: 'long', waitMs: 12_000 })
    await until('the long one waits', async () => (await scene.depth(scene.level(longMs))) === 1)
    put({ id: 'short', waitMs: 90 })
    await until('the short one is done', () => applied.includes('short'))
    assert.deepEqual(applied, ['short'])
    assert.equal(await scene.depth(scene.level(longMs)), 1)
    await until('the long one comes', () => applied.includes('long'))
    const [long, short] = ['long', 'short'].map(id => seen.filter(one => one.id === id))
    for (const [first, second] of [long!, short!]) assert.deepEqual(second!.facts, first!.facts)
    assert.ok(long![1]!.atMs - long![0]!.atMs >= longMs)
    assert.ok(short![1]!.atMs - short![0]!.atMs >= 100)
    const { arguments: args } = (await manage('GET', `queues/%2F/${scene.level(longMs)}`)) as {
      arguments: unknown
    }
    assert.deepEqual(args, {
      'x-queue-type': 'quorum',
      'x-delivery-limit': -1,
      'x-message-ttl': longMs,
      'x-dead-letter-exchange': '',
      'x-dead-letter-routing-key': scene.queue,
      'x-dead-letter-strategy': 'at-least-once',
      'x-overflow': 'reject-publish',
    })
  })

  test("the dead letter of a retried message names where it failed, in the broker's headers", async t => {
    const scene = await openScene(t, [100, 200])
    const dead = `${scene.queue}.dead`
    let tries = 0
    await run(scene, {
      failure: { mode: 'retry queue', delayMs: 100, delayMaxMs: 200, deadLetter: dead },
      handle: () => (tries++ === 0 ? retryAfter(50) : reject('no such account')),
    })
    scene.channel.sendToQueue(scene.queue, Buffer.from('{"id":"d"}'), { headers: { mine: 1 } })
    await until('the copy is there', async () => (await scene.depth(dead)) === 1)
    const copy = await scene.channel.get(dead, { noAck: true })
    assert.ok(copy)
    const { headers = {}, messageId } = copy.properties
    assert.deepEqual([messageId, headers.mine, tries], ['d', 1, 2])
    assert.equal(headers['onceward-retry'], undefined)
    const [death] = headers['x-death'] as unknown as Record<string, unknown>[]
    assert.deepEqual(
      [death!.queue, death!.reason, death!.count, death!['routing-keys']],
      [scene.queue, 'rejected', 1, [scene.queue]],
    )
    assert.equal(headers['x-first-death-queue'], scene.queue)
    assert.equal(headers['onceward-reason'], 'no such account')
  })

  test('headers named like inherited properties of objects survive retries and dead-lettering unchanged', async t => {
    const scene = await openScene(t, [100, 200])
    const dead = `${scene.queue}.dead`
    const published = { ...namedLikeInherited, ...nestedPrototypes, 'x-match': 'all' }
    const seen: Readonly<Record<string, unknown>>[] = []
    await run(scene, {
      message: { digestHeaders: ['deep', '__proto__'] },
      failure: { mode: 'retry queue', delayMs: 100, delayMaxMs: 200, deadLetter: dead },
      handle: ({ envelope }) => {
        seen.push(envelope.headers)
        return seen.length === 1 ? retryAfter(50) : reject('no such account')
      },
    })
    scene.channel.sendToQueue(scene.queue, Buffer.from('{"id":"d"}'), { headers: published })
    await until('the copy is there', async () => (await scene.depth(dead)) === 1)
    assert.equal(seen.length, 2)
    for (const headers of seen) assertHeaders(headers, published)
    const { take } = await openQueue(t, dead, { url: scene.url, declare: 'verify' })
    const [copy] = await take(1)
    assertHeaders(copy!.headers, published)
  })

  test('a message whose copy is too large to send is kept in the store, settled, and retried from there', async t => {
    const scene = await openScene(t, [100, 200])
    let tries = 0
    await run(scene, {
      failure: { mode: 'retry queue', delayMs: 100, delayMaxMs: 200 },
      message: { limits: { headersMax: 20_000, headerBytesMax: 1_000_000 } },
      handle: () => (tries++ === 0 ? retryAfter(50) : undefined),
    })
    const headers = { list: Array.from({ length: 13_100 }, () => '') }
    scene.channel.sendToQueue(scene.queue, Buffer.from('{"id":"wide"}'), { headers })
    await until('it is applied', () =>
      scene
        .count(
          `select count(*)::int as count from onceward.inbox where message_id = 'wide' and status = 'applied'`,
        )
        .then(n => n === 1),
    )
    assert.equal(tries, 2)
    for (const name of [scene.queue, scene.level(100), scene.level(200)])
      assert.equal(await scene.depth(name), 0)
    assert.equal(await scene.count('select count(*)::int as count from onceward.outbox'), 0)
    assert.equal(await scene.count('select count(*)::int as count from onceward.held'), 0)
  })

  test('a level with other arguments is refused before anything is consumed', async t => {
    const scene = await openScene(t, [100, 200])
    await scene.channel.assertQueue(scene.level(100), quorum)
    await assert.rejects(
      run(scene, {
        failure: { mode: 'retry queue', delayMs: 100, delayMaxMs: 200 },
        handle: () => {},
      }),
      /exists with other arguments/,
    )
  })
})

async function openScene(t: TestContext, levels: readonly number[]): Promise<Scene> {
  const database = await createDatabase()
  const pool = createPool(database.url, { max: 3 })
  await migrate(pool)
  const url = await rabbitmqUrl()
  const connection = await amqp.connect(url)
  const channel = await connection.createConfirmChannel()
  const name = randomName()
  const level = (ms: number) => `${name}.retry.${ms}`
  await channel.assertQueue(name, quorum)
  const ends: (() => Promise<unknown>)[] = []
  t.after(async () => {
    for (const end of ends.reverse()) await end()
    await pool.end()
    await database.drop()
    for (const one of [name, `${name}.dead`, ...levels.map(level)]) await channel.deleteQueue(one)
    await connection.close()
  })
  return {
    databaseUrl: database.url,
    url,
    pool,
    channel,
    queue: name,
    level,
    ends,
    count: async sql => (await pool.query(sql)).rows[0].count,
    depth: async queue => (await channel.checkQueue(queue)).messageCount,
  }
}

async function run(scene: Scene, contract: Partial<ConsumerContract<Note, SqlTransaction>>): Promise<void> {
  const consumer = defineConsumer<Note, SqlTransaction>({
    name: 'notes',
    owner: 'tests',
    risk: 'projection',
    source: queue(scene.queue),
    identity: { id: m => m.id },
    ...contract,
  })
  const { databaseUrl, url } = scene
  const running = await runConsumer(consumer, { databaseUrl, rabbitmqUrl: url, env: realEnvironment() })
  scene.ends.push(() => running.drain(5_000))
}

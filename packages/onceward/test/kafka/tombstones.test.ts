import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import {
  type ConsumerContract,
  defineConsumer,
  openReplay,
  park,
  projection,
  reject,
  retryAfter,
  runConsumer,
  type SqlTransaction,
} from 'onceward'
import { createKafkaTransform, topic } from 'onceward/kafka'
import { createPool, migrate } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { z } from 'zod'
import { digestOf } from '../../src/message/digest.ts'
import { verifyCampaign } from '../../src/replay/campaign/steer-campaign.ts'
import { replayAll } from '../parking/parked-scene.ts'
import { createDatabase, skipWithout } from '../services/services.ts'
import { openKafka, randomName, type TestKafka } from './fixture.ts'

interface Customer {
  readonly name: string
}
type Contract = ConsumerContract<Customer | null, SqlTransaction>

const compacted = { configs: { 'cleanup.policy': 'compact' } }
const value = (name: string) => JSON.stringify({ name })

let database: Awaited<ReturnType<typeof createDatabase>>
let pool: ReturnType<typeof createPool>
let consumers = 0

describe('a Kafka tombstone', await skipWithout('postgres', 'kafka'), () => {
  before(async () => {
    database = await createDatabase()
    pool = createPool(database.url, { max: 4 })
    await migrate(pool)
    await pool.query('insert into onceward.person (role_name) values (session_user) on conflict do nothing')
    await pool.query('create table seen (n serial, consumer text, key text, name text, mode text)')
    await pool.query(
      'create table customer (id text primary key, version bigint not null, name text, gone boolean not null default false)',
    )
  })
  after(async () => {
    await pool.end()
    await database.drop()
  })

  test('reaches the handler as null, with its key, under the id of its position', async t => {
    const kafka = await openKafka(t)
    const name = await kafka.createTopic(compacted)
    await kafka.produce(name, [
      { key: 'a', value: value('Anna') },
      { key: 'a', value: null },
      { key: 'b', value: null },
      { key: 'b', value: '' },
    ])
    const consumer = contract(name, { message: { tombstones: 'handle' } })
    await consume(t, kafka, consumer)
    await until(
      'all ended',
      async () => (await seen(consumer.name)).length === 3 && (await held(consumer.name)).length === 1,
    )
    assert.deepEqual(await seen(consumer.name), ['a Anna live', 'a gone live', 'b gone live'])
    assert.deepEqual(await held(consumer.name), [
      { state: 'quarantined', code: 'undecodable', broker_key: 'b' },
    ])
  })

  test('is quarantined by name where the contract does not handle it, each under a row of its own', async t => {
    const kafka = await openKafka(t)
    const name = await kafka.createTopic(compacted)
    await kafka.produce(name, [
      { key: 'a', value: null },
      { key: 'b', value: null },
      { key: 'a', value: value('Anna') },
    ])
    const consumer = contract(name, { identity: { id: (message, { key }) => `${key}-${message!.name}` } })
    await consume(t, kafka, consumer)
    await until(
      'all ended',
      async () => (await seen(consumer.name)).length === 1 && (await held(consumer.name)).length === 2,
    )
    assert.deepEqual(
      (await held(consumer.name)).map(({ state, code, broker_key }) => `${broker_key} ${state} ${code}`),
      ['a quarantined tombstone', 'b quarantined tombstone'],
    )
  })

  test('reaches the handler without a declaration where the schema accepts null', async t => {
    const kafka = await openKafka(t)
    const name = await kafka.createTopic(compacted)
    await kafka.produce(name, [
      { key: 'a', value: value('Anna') },
      { key: 'a', value: null },
    ])
    const customer = z.object({ name: z.string() })
    const admits = contract(name, { message: customer.nullable() })
    const refuses = contract(name, { message: customer as never })
    await consume(t, kafka, admits)
    await consume(t, kafka, refuses)
    await until(
      'all ended',
      async () => (await seen(admits.name)).length === 2 && (await held(refuses.name)).length === 1,
    )
    assert.deepEqual(await seen(admits.name), ['a Anna live', 'a gone live'])
    assert.deepEqual(await held(admits.name), [])
    assert.deepEqual(await held(refuses.name), [{ state: 'quarantined', code: 'tombstone', broker_key: 'a' }])
  })

  test('that older code has marked, as an empty body, is no conflict when it is redelivered', async t => {
    const kafka = await openKafka(t)
    const name = await kafka.createTopic(compacted)
    const tombstone = { key: 'a', value: null, headers: { 'message-id': 'one' } }
    await kafka.produce(name, [tombstone])
    const consumer = contract(name, { identity: { id: { property: 'messageId' } } })
    await consume(t, kafka, consumer)
    await until('it is held', async () => (await held(consumer.name)).length === 1)
    const empty = digestOf(Buffer.alloc(0), {}, [])
    for (const table of ['inbox', 'held'])
      await pool.query(
        `update onceward.${table} set digest = $1
         where consumer_id = (select id from onceward.consumer where name = $2)`,
        [empty, consumer.name],
      )
    await kafka.produce(name, [tombstone, { key: 'a', value: null, headers: { 'message-id': 'two' } }])
    await until('the last is held', async () => (await held(consumer.name)).length >= 2)
    assert.deepEqual(
      (await held(consumer.name)).map(({ code }) => code),
      ['tombstone', 'tombstone'],
    )
  })

  for (const dedup of ['marker', 'version'] as const) {
    test(`deletes its key in a projection, and no older record restores it (dedup ${dedup})`, async t => {
      const kafka = await openKafka(t)
      const name = await kafka.createTopic(compacted)
      await pool.query('truncate customer')
      await kafka.produce(name, [
        { key: 'a', value: value('Anna') },
        { key: 'b', value: value('Bert') },
        { key: 'a', value: null },
        { key: 'never seen', value: null },
        { key: 'b', value: value('Berta') },
      ])
      const projected = states(name, dedup)
      await consume(t, kafka, projected)
      await until('b is the newest', async () => (await customers()).some(row => row.includes('Berta')))
      const expected = ['a 2 null gone', 'b 4 Berta', 'never seen 3 null gone']
      assert.deepEqual(await customers(), expected)
      const again = { ...states(name, dedup), generation: 2 }
      const { drain } = await consume(t, kafka, again)
      await until(
        'it is read again',
        async () => (await kafka.committed(`${again.name}.2`, name)).get(0) === 5,
      )
      assert.deepEqual(await customers(), expected)
      await kafka.produce(name, [{ key: 'a', value: value('Anna again') }])
      await until('a is back', async () => (await customers())[0] === 'a 5 Anna again')
      await drain()
    })
  }

  for (const changes of [
    { inbox: { mode: 'stored' } },
    { failure: { mode: 'defer', delayMs: 1, delayMaxMs: 1 } },
  ] satisfies Partial<Contract>[]) {
    test(`stays one when it is stored and retried: ${JSON.stringify(changes)}`, async t => {
      const kafka = await openKafka(t)
      const name = await kafka.createTopic(compacted)
      await kafka.produce(name, [{ key: 'a', value: null }])
      const tries: unknown[] = []
      const consumer = contract(name, {
        message: { tombstones: 'handle' },
        ...changes,
        handle: context => {
          const { message, envelope } = context
          tries.push([message, envelope.key, envelope.properties.tombstone])
          return tries.length < 3 ? retryAfter(1) : write(context, consumer.name)
        },
      })
      await consume(t, kafka, consumer)
      await until('it is applied', async () => (await seen(consumer.name)).length === 1)
      assert.deepEqual(
        tries,
        Array.from({ length: 3 }, () => [null, 'a', true]),
      )
    })
  }

  test('stays one on a retry topic and on the dead-letter topic', { timeout: 120_000 }, async t => {
    const kafka = await openKafka(t)
    const name = await kafka.createTopic()
    const retry = await kafka.createTopic({ name: `${name}.retry.100` })
    const dead = await kafka.createTopic({ name: `${name}.dead` })
    const tries: unknown[] = []
    const consumer = contract(name, {
      message: { tombstones: 'handle' },
      identity: { id: { header: 'id' } },
      failure: { mode: 'retry topic', delayMs: 100, delayMaxMs: 100, deadLetter: dead },
      handle: ({ message, envelope }) => {
        tries.push([message, envelope.key, envelope.position])
        return tries.length === 1 ? retryAfter(50) : reject('no')
      },
    })
    await kafka.produce(name, [{ key: 'a', value: null, headers: { id: 'm-1' } }])
    await consume(t, kafka, consumer)
    await until('the copy is there', async () => (await kafka.endOffset(dead, 0)) === 1, {
      deadlineMs: 60_000,
    })
    assert.deepEqual(tries, [
      [null, 'a', `${name}/0@0`],
      [null, 'a', `${name}/0@0`],
    ])
    for (const name of [retry, dead]) {
      const copies = await kafka.read(name)
      assert.deepEqual(
        copies.map(copy => [copy.key, copy.value]),
        [['a', null]],
        name,
      )
    }
  })

  test('that was parked is replayed as one', async t => {
    const kafka = await openKafka(t)
    const name = await kafka.createTopic(compacted)
    await kafka.produce(name, [{ key: 'a', value: null }])
    let open = false
    const consumer = contract(name, {
      message: { tombstones: 'handle' },
      handle: context => (open ? write(context, consumer.name) : park('not yet')),
    })
    await consume(t, kafka, consumer)
    await until('it is parked', async () => (await held(consumer.name)).some(row => row.state === 'parked'))
    open = true
    await replayAll({ pool }, consumer.name, randomName('replay'))
    await until('it is applied', async () => (await seen(consumer.name)).length === 1)
    assert.deepEqual(await seen(consumer.name), ['a gone live'])
  })

  test('is read by a campaign from the first record', async t => {
    const kafka = await openKafka(t)
    const name = await kafka.createTopic(compacted)
    await kafka.produce(name, [
      { key: 'a', value: value('Anna') },
      { key: 'a', value: null },
    ])
    const consumer = contract(name, {
      message: { tombstones: 'handle' },
      replay: { modes: ['backfill'] },
    })
    const replay = await openReplay(defineConsumer(consumer), {
      databaseUrl: database.url,
      kafkaBootstrap: kafka.bootstrap,
    })
    t.after(() => replay.close())
    const { id } = await replay.create({
      mode: 'backfill',
      selection: { of: 'log', start: 'first', end: 'next' },
      reason: 'a test',
    })
    await replay.preview(id)
    await replay.run(id)
    assert.deepEqual(await seen(consumer.name), ['a Anna backfill', 'a gone backfill'])
  })

  for (const dedup of ['marker', 'version'] as const)
    test(`deletes its key in a rebuilt projection, and one that comes later does too (dedup ${dedup})`, async t => {
      const kafka = await openKafka(t)
      const name = await kafka.createTopic(compacted)
      await pool.query('truncate customer')
      await kafka.produce(name, [
        { key: 'a', value: value('Anna') },
        { key: 'b', value: value('Bert') },
        { key: 'a', value: null },
      ])
      const consumer = { ...states(name, dedup), replay: { modes: ['rebuild' as const] } }
      const live = await consume(t, kafka, consumer)
      const expected = ['a 2 null gone', 'b 1 Bert']
      await until('live has applied them', async () => (await customers()).join() === expected.join())
      await pool.query(`update customer set gone = false, name = 'Anna' where id = 'a'`)
      const replay = await openReplay(defineConsumer(consumer), {
        databaseUrl: database.url,
        kafkaBootstrap: kafka.bootstrap,
      })
      t.after(() => replay.close())
      const selection = { of: 'log', start: 'first', end: 'next' } as const
      const { id } = await replay.create({ mode: 'rebuild', selection, reason: 'a test' })
      await replay.preview(id)
      await replay.run(id)
      await verifyCampaign(pool, id)
      await replay.swap(id, { accept: { customer: 'a deletion was undone by hand' } })
      assert.deepEqual(await customers(), expected)
      await kafka.produce(name, [{ key: 'b', value: null }])
      await until('b is deleted', async () => (await customers())[1] === 'b 3 null gone')
      await live.drain()
    })

  test('passes through createKafkaTransform', async t => {
    const kafka = await openKafka(t)
    const [from, to] = [await kafka.createTopic(compacted), await kafka.createTopic(compacted)]
    await kafka.produce(from, [{ key: 'a', value: null }])
    const transform = createKafkaTransform({
      bootstrap: kafka.bootstrap,
      from,
      group: randomName('group'),
      start: 'earliest',
      map: ({ key, value }) => [{ topic: to, key, value }],
    })
    await transform.start()
    t.after(() => transform.drain().catch(() => {}))
    await until('it is there', async () => (await kafka.read(to)).length === 1)
    const [copy] = await kafka.read(to)
    assert.deepEqual([copy!.key, copy!.value], ['a', null])
  })
})

function contract(source: string, changes: Partial<Contract> = {}): Contract {
  const name = `tombstones_${++consumers}`
  return {
    name,
    owner: 'tests',
    risk: 'projection',
    source: topic(source, { start: 'earliest' }),
    identity: { id: 'position' },
    handle: context => write(context, name),
    ...changes,
  }
}

function states(source: string, dedup: 'marker' | 'version'): ConsumerContract<Customer, SqlTransaction> {
  return {
    name: `tombstones_${++consumers}`,
    owner: 'tests',
    risk: 'projection',
    source: topic(source, { start: 'earliest' }),
    identity: { id: 'position' },
    dedup,
    effect: {
      apply: projection<Customer>({
        table: 'customer',
        key: { id: { record: 'key' } },
        version: { version: { record: 'offset' } },
        columns: { name: customer => customer.name },
        delete: { column: 'gone', when: 'tombstone' },
        gap: 'skips allowed',
      }),
    },
  }
}

async function write(
  { message, envelope, tx, mode }: Parameters<NonNullable<Contract['handle']>>[0],
  consumer: string,
): Promise<void> {
  const values = [consumer, envelope.key, message?.name ?? null, mode]
  await tx.query('insert into seen (consumer, key, name, mode) values ($1, $2, $3, $4)', values)
}

async function consume<M>(t: TestContext, kafka: TestKafka, consumer: ConsumerContract<M, SqlTransaction>) {
  const running = await runConsumer(defineConsumer(consumer), {
    databaseUrl: database.url,
    kafkaBootstrap: kafka.bootstrap,
  })
  let drained: Promise<unknown> | null = null
  const drain = () => (drained ??= running.drain(10_000))
  t.after(drain)
  return { drain }
}

async function seen(consumer: string): Promise<string[]> {
  const { rows } = await pool.query('select key, name, mode from seen where consumer = $1 order by n', [
    consumer,
  ])
  return rows.map(({ key, name, mode }) => `${key} ${name ?? 'gone'} ${mode}`)
}

async function held(consumer: string) {
  const { rows } = await pool.query(
    `select state::text, code, broker_key from onceward.held
     where consumer_id = (select id from onceward.consumer where name = $1) order by id`,
    [consumer],
  )
  return rows as { state: string; code: string; broker_key: string }[]
}

async function customers(): Promise<string[]> {
  const { rows } = await pool.query('select id, version, name, gone from customer order by id')
  return rows.map(({ id, version, name, gone }) => `${id} ${version} ${name}${gone ? ' gone' : ''}`)
}

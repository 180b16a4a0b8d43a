import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type ConsumerContract, defineConsumer, park, runConsumer, type SqlTransaction } from 'onceward'
import { createPool, createQueue, migrate, postgresQueue, publish } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { readHeldList } from '../../src/drivers/postgres/work/read-held.ts'
import { explain } from '../../src/evidence/explain.ts'
import { listLedger } from '../../src/telemetry/ledger.ts'
import { createDatabase, skipWithout } from '../services/services.ts'

interface Order {
  readonly id: string
  readonly order: string
}

const base: Omit<ConsumerContract<Order, SqlTransaction>, 'name' | 'source'> = {
  owner: 'tests',
  risk: 'low value',
  identity: {
    id: m => m.id,
    businessKey: m => m.order,
    type: () => 'Ordered',
    schemaVersion: () => '2',
    producer: () => 'shop',
    correlationId: m => `trace-${m.id}`,
    aggregateId: m => m.order,
    aggregateVersion: () => 7,
  },
}

const facts = {
  type: 'Ordered',
  schemaVersion: '2',
  producer: 'shop',
  correlationId: 'trace-a',
  aggregate: 'order-a',
  aggregateVersion: '7',
}

describe('rows that outlast a delivery name their message', await skipWithout('postgres'), () => {
  let database: Awaited<ReturnType<typeof createDatabase>>
  let pool: ReturnType<typeof createPool>

  before(async () => {
    database = await createDatabase()
    pool = createPool(database.url, { max: 4 })
    await migrate(pool)
  })
  after(async () => {
    await pool.end()
    await database.drop()
  })

  async function start(
    name: string,
    changes: Partial<ConsumerContract<Order, SqlTransaction>>,
    parts: readonly ('consumer' | 'worker')[] = ['consumer'],
  ) {
    await createQueue(pool, name)
    await publish(
      pool,
      name,
      ['a', 'b'].map(id => ({ body: { id, order: `order-${id}` } })),
    )
    const consumer = defineConsumer({ ...base, name, source: postgresQueue(name), ...changes })
    return runConsumer(consumer, { databaseUrl: database.url, parts })
  }

  const held = (consumer: string) => readHeldList(pool, { consumer, countMax: 10 })

  it('effects are found by message, business key and type, whenever they were recorded', async () => {
    const running = await start('paying', {
      effect: { external: { gateway: { url: 'https://gateway.example/pay', policy: 'keyed' } } },
      handle({ message, effects }) {
        effects.external('gateway', { key: `pay:${message.id}`, body: {} })
      },
    })
    await until('both are requested', async () => (await listLedger(pool, { state: 'open' })).length === 2)
    await running.drain()
    await pool.query(`update onceward.ledger set created_at = created_at + interval '2 hours'`)
    const keys = async (filter: Parameters<typeof listLedger>[1]) =>
      (await listLedger(pool, filter)).map(({ key }) => key)
    assert.deepEqual(await keys({ message: 'b' }), ['pay:b'])
    assert.deepEqual(await keys({ businessKey: 'order-a', consumer: 'paying' }), ['pay:a'])
    assert.deepEqual(await keys({ type: 'http', state: 'pending' }), ['pay:a', 'pay:b'])
    assert.deepEqual(await keys({ key: 'pay:a', target: 'gateway' }), ['pay:a'])
    assert.deepEqual(await keys({ type: 'email', state: 'open' }), [])
    const { stories, limits } = await explain(pool, { by: 'message', id: 'b' })
    const requested = stories[0]!.timeline.find(({ what }) => what === 'external effect requested')!
    assert.partialDeepStrictEqual(requested.facts, { type: 'http', key: 'pay:b', businessKey: 'order-b' })
    assert.equal(limits.join().includes('seconds after the marker'), false)
  })

  it('an effect of a message is read by index', async () => {
    const client = await pool.connect()
    await client.query('begin; set local enable_seqscan = off')
    const { rows } = await client.query(
      `explain select from onceward.ledger where consumer_name = 'paying' and message_id = 'b'`,
    )
    await client.query('rollback')
    client.release()
    assert.match(rows.map(row => row['QUERY PLAN']).join('\n'), /ledger_of_message/)
  })

  it('stored messages have their identities, and a lease its beginning', async () => {
    const running = await start('storing', { inbox: { mode: 'stored' }, handle: () => {} })
    await until('both are stored', async () => (await held('storing')).length === 2)
    await running.drain()
    const [first] = await held('storing')
    assert.partialDeepStrictEqual(first, { ...facts, leasedAt: null })

    const leased = Promise.withResolvers<void>()
    const release = Promise.withResolvers<void>()
    const consumer = defineConsumer({
      ...base,
      name: 'storing',
      source: postgresQueue('storing'),
      inbox: { mode: 'stored' },
      async handle() {
        leased.resolve()
        await release.promise
      },
    })
    const worker = await runConsumer(consumer, { databaseUrl: database.url, parts: ['worker'] })
    await leased.promise
    const now = await held('storing')
    assert.ok(now.some(({ leasedAt, leaseSeconds }) => leasedAt !== null && leaseSeconds! > 0))
    release.resolve()
    await until('both are applied', async () => (await held('storing')).length === 0)
    await worker.drain()
  })

  it('parked messages have them too, and explain shows them', async () => {
    const running = await start('parking', { handle: () => park('look at it') })
    await until('both are parked', async () => (await held('parking')).length === 2)
    await running.drain()
    assert.partialDeepStrictEqual((await held('parking'))[0], facts)
    const { stories } = await explain(pool, { by: 'message', id: 'a' }, { consumer: 'parking' })
    const of = Object.fromEntries(stories[0]!.answers.map(({ asked, answer }) => [asked, answer]))
    assert.partialDeepStrictEqual(of, { producer: 'shop', aggregate: 'order-a, version 7' })
  })
})

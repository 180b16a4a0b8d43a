import assert from 'node:assert/strict'
import { appendFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type ConsumerContract, defineConsumer, reject, runConsumer } from 'onceward'
import { file } from 'onceward/file'
import { createPool, createQueue, migrate, postgresQueue, publish } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { startObserveServer } from '../../src/runtime/observe-server.ts'
import { realEnvironment } from '../../src/runtime/real-environment.ts'
import { createDatabase, skipWithout } from '../services/services.ts'
import { type Scraped, scrape } from '../telemetry/scraped.ts'

type Message = { readonly id: string }
type Contract = ConsumerContract<Message>

const contract = (changes: Pick<Contract, 'name'> & Partial<Contract>): Contract => ({
  owner: 'tests',
  risk: 'projection',
  source: postgresQueue(changes.name),
  identity: { id: message => message.id },
  handle: async () => {},
  ...changes,
})

/** Answers of the review lists that no other test shows. */
describe('an identity', () => {
  test('is not read from a delivery tag: no such property exists', () => {
    assert.throws(
      () =>
        defineConsumer(contract({ name: 'tagged', identity: { id: { property: 'deliveryTag' } as never } })),
      /identity\.id.*messageId/s,
    )
  })
})

describe('answers of the review lists', await skipWithout('postgres'), () => {
  let database: Awaited<ReturnType<typeof createDatabase>>
  let pool: ReturnType<typeof createPool>
  let folder: string

  before(async () => {
    database = await createDatabase()
    pool = createPool(database.url, { max: 2 })
    folder = await mkdtemp(join(tmpdir(), 'onceward-proofs-'))
    await migrate(pool)
  })
  after(async () => {
    await pool.end()
    await database.drop()
    await rm(folder, { recursive: true })
  })

  const empty = async (queue: string) =>
    (
      await pool.query(
        'select from onceward.queue_message where queue_id = (select id from onceward.queue where name = $1)',
        [queue],
      )
    ).rowCount === 0

  test('a handler is given the message and its transaction, and nothing of the client of the broker', async () => {
    await createQueue(pool, 'given')
    let given: readonly string[] = []
    let envelope: readonly string[] = []
    const running = await runConsumer(
      defineConsumer(
        contract({
          name: 'given',
          handle: async context => {
            given = Object.keys(context)
            envelope = Object.keys(context.envelope)
          },
        }),
      ),
      { databaseUrl: database.url },
    )
    await publish(pool, 'given', [{ body: { id: 'a' } }])
    await until('it is handled', () => given.length > 0)
    await running.drain()
    const names = ['effects', 'envelope', 'log', 'message', 'mode', 'run', 'signal', 'tx', 'waited']
    assert.deepEqual([...given].sort(), names)
    const identities = ['id', 'businessKey', 'orderKey', 'eventId', 'idempotencyKey', 'type', 'schemaVersion']
    const context = ['producer', 'correlationId', 'causationId', 'aggregateId', 'aggregateVersion']
    const received = [
      'occurredAtMs',
      'replay',
      'headers',
      'properties',
      'origin',
      'key',
      'position',
      'redelivered',
    ]
    assert.deepEqual([...envelope].sort(), [...identities, ...context, ...received].sort())
  })

  test('a dead letter keeps its bytes, headers, properties, origin and the reason', async () => {
    await createQueue(pool, 'letters')
    const body = '{"id": "a",  "odd": "spacing"}'
    const headers = { tenant: 'blue', nested: { deep: [1, 'x'] } }
    const properties = { type: 'order', correlationId: 'c-1', timestampMs: 1_700_000_000_000 }
    await publish(pool, 'letters', [{ body, headers, properties, key: 'k' }])
    const running = await runConsumer(
      defineConsumer(contract({ name: 'letters', handle: async () => reject('not ours', 'stranger') })),
      { databaseUrl: database.url },
    )
    await until('it is settled', () => empty('letters'))
    await running.drain()
    const { rows } = await pool.query(
      `select state::text, body, headers, properties, origin, broker_key, code, reason, correlation_id, message_type
       from onceward.held where origin = 'letters'`,
    )
    assert.equal(rows.length, 1)
    const { body: kept, properties: has, ...row } = rows[0]
    assert.equal(String(kept), body)
    assert.deepEqual({ ...has, ...properties }, has)
    assert.deepEqual(row, {
      state: 'dead',
      headers,
      origin: 'letters',
      broker_key: 'k',
      code: 'stranger',
      reason: 'not ours',
      correlation_id: 'c-1',
      message_type: 'order',
    })
  })

  test('what waits at the source and what waits in the store are two metrics', async t => {
    const path = join(folder, 'lags.jsonl')
    await appendFile(path, '{"id":"a"}\n{"id":"b"}\n')
    const server = await startObserveServer({ host: '127.0.0.1', port: 0 })
    t.after(() => server.close())
    const running = await runConsumer(
      defineConsumer(contract({ name: 'lags', source: file(path), inbox: { mode: 'stored' } })),
      {
        databaseUrl: database.url,
        parts: ['consumer'],
        env: realEnvironment({ meter: server.meter }),
      },
    )
    t.after(() => running.drain())
    let now: Scraped = await scrape(server.url)
    await until('both are stored and seen', async () => {
      now = await scrape(server.url)
      return now.by('onceward_work_messages', 'state').stored === 2
    })
    assert.equal(
      now.sum('onceward_consumer_lag_messages', { consumer: 'lags' }),
      0,
      'nothing waits at the source',
    )
    assert.ok(now.sum('onceward_work_oldest_age_seconds', { consumer: 'lags' }) > 0, 'and the store has it')
  })
})

import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { type ConsumerContract, defineConsumer, runConsumer, type SqlTransaction } from 'onceward'
import { createPool, createQueue, migrate, postgresQueue, publish } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { startObserveServer } from '../../src/runtime/observe-server.ts'
import { realEnvironment } from '../../src/runtime/real-environment.ts'
import { createDatabase, skipWithout } from '../services/services.ts'
import { scrape } from './scraped.ts'

interface Job {
  readonly id: string
  readonly type: string
}

type Handling = Pick<ConsumerContract<Job, SqlTransaction>, 'handle' | 'handleBatch'>

const slowMs = 400
const work = ({ type }: Job) => (type === 'slow' ? wait(slowMs) : undefined)

/** The seconds of all messages by type: one slow and three fast ones of one batch, then a duplicate. */
async function secondsOf(t: TestContext, handling: Handling) {
  const database = await createDatabase()
  const pool = createPool(database.url, { max: 2 })
  await migrate(pool)
  await createQueue(pool, 'jobs')
  const job = (id: string, type: string) => ({ body: { id, type } })
  await publish(pool, 'jobs', [job('s', 'slow'), ...['a', 'b', 'c'].map(id => job(id, 'fast'))])
  const server = await startObserveServer({ host: '127.0.0.1', port: 0 })
  const consumer = defineConsumer<Job, SqlTransaction>({
    name: 'timed',
    owner: 'tests',
    risk: 'low value',
    source: postgresQueue('jobs'),
    message: { types: ['slow', 'fast'] },
    identity: { id: job => job.id, type: job => job.type },
    ...handling,
  } as ConsumerContract<Job, SqlTransaction>)
  const env = realEnvironment({ meter: server.meter })
  const running = await runConsumer(consumer, { databaseUrl: database.url, env })
  t.after(async () => {
    await running.drain()
    await Promise.all([server.close(), pool.end()])
    await database.drop()
  })
  const counted = (n: number) => async () => {
    const page = await scrape(server.url)
    return page.sum('messaging_process_duration_seconds_count') === n
  }
  await until('they are counted', counted(4))
  await publish(pool, 'jobs', [job('s', 'slow')])
  await until('the duplicate is counted', counted(5))
  const page = await scrape(server.url)
  return page.by('messaging_process_duration_seconds_sum', 'type')
}

describe('the processing time of a message', await skipWithout('postgres'), () => {
  test('is that of its own call, beside a slow one of its batch', async t => {
    const { slow, fast } = await secondsOf(t, { handle: ({ message }) => work(message) })
    assert.ok(slow! >= slowMs / 1_000 - 0.01 && slow! < 5, `slow: ${slow}`)
    assert.ok(fast! < slowMs / 2_000, `fast: ${fast}`)
  })

  test('is that of the batch with handleBatch', async t => {
    const { slow, fast } = await secondsOf(t, {
      handleBatch: async ({ batch }) => {
        for (const { message } of batch) await work(message)
      },
    })
    assert.ok(slow! >= slowMs / 1_000 - 0.01, `slow: ${slow}`)
    assert.ok(fast! >= (3 * slowMs) / 1_000 - 0.03, `fast: ${fast}`)
  })
})

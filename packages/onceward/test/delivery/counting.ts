import {
  type ConsumerContract,
  ConsumerProcess,
  defineConsumer,
  type Mode,
  realEnvironment,
  type SqlTransaction,
} from 'onceward'
import { MemoryQueue } from 'onceward/memory'
import { createPool, createPostgresStore, migrate, type PostgresStoreOptions } from 'onceward/postgres'
import { createDatabase } from '../services/services.ts'

export interface Increment {
  id: string
  key: string
}

/** A database with the schema and a table whose rows count how often each key was applied. */
export async function countingDatabase() {
  const database = await createDatabase()
  const pool = createPool(database.url, { max: 3 })
  await migrate(pool)
  await pool.query('create table count (key text primary key, times integer not null)')
  const one = async (sql: string, values: unknown[] = []) => (await pool.query(sql, values)).rows[0]
  return {
    url: database.url,
    pool,
    times: async (key: string) =>
      ((await one('select times from count where key = $1', [key]))?.times as number) ?? 0,
    counted: async () => (await one('select coalesce(sum(times), 0)::int as sum from count')).sum as number,
    held: async () =>
      (
        await pool.query(
          'select state::text, code, message_id as id, seen, reason from onceward.held order by id',
        )
      ).rows,
    markers: async () =>
      (await pool.query('select message_id as id, status::text from onceward.inbox order by 1')).rows,
    async [Symbol.asyncDispose]() {
      await pool.end()
      await database.drop()
    },
  }
}

export const increment = (tx: SqlTransaction, key: string) =>
  tx.query(
    'insert into count (key, times) values ($1, 1) on conflict (key) do update set times = count.times + 1',
    [key],
  )

/** A consumer on a memory queue and a PostgreSQL store: the store's faults without a broker's. */
export async function startCounting(
  url: string,
  contract: Partial<ConsumerContract<Increment, SqlTransaction>> = {},
  storeOptions: Partial<PostgresStoreOptions> = {},
  mode: Mode = 'live',
  env = realEnvironment(),
) {
  const queue = new MemoryQueue()
  const store = createPostgresStore({ url, ...storeOptions })
  const own =
    contract.handleBatch === undefined
      ? { handle: contract.handle ?? (async ({ message, tx }) => void (await increment(tx, message.key))) }
      : {}
  const consumer = defineConsumer<Increment, SqlTransaction>({
    name: 'counting',
    owner: 'tests',
    risk: 'money',
    source: { kind: 'memory' },
    identity: { id: m => m.id },
    ...contract,
    ...own,
  } as ConsumerContract<Increment, SqlTransaction>)
  const process = new ConsumerProcess({
    consumer,
    source: queue,
    store,
    env,
    mode,
    instance: 'test',
  })
  await process.start()
  return {
    queue,
    process,
    publish: (...messages: object[]) => queue.publish(...messages.map(m => ({ body: JSON.stringify(m) }))),
    async [Symbol.asyncDispose]() {
      if (process.state === 'running') await process.drain(5_000)
      await store.close()
    },
  }
}

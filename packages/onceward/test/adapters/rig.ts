import { type ConsumerContract, ConsumerProcess, defineConsumer, realEnvironment } from 'onceward'
import { MemoryQueue } from 'onceward/memory'
import { createPool, migrate, type TransactionOptions } from 'onceward/postgres'
import { type LogLine, until } from 'onceward/testing'
import { createDatabase } from '../services/services.ts'
import type { Library } from './libraries.ts'

export interface Job {
  readonly id: string
}

/** A database with the table that every library writes to, read through a separate connection. */
export async function openEffects() {
  const database = await createDatabase()
  const pool = createPool(database.url, { max: 2 })
  await migrate(pool)
  await pool.query(
    'create table effect (seq bigint generated always as identity primary key, key text not null)',
  )
  const texts = async (sql: string, values: unknown[] = []) =>
    (await pool.query(sql, values)).rows.map(row => row.text as string)
  return {
    url: database.url,
    pool,
    effects: () => texts('select key as text from effect order by key'),
    markers: (consumer: string) =>
      texts(
        `select message_id || ' ' || status as text from onceward.inbox
         join onceward.consumer c on c.id = consumer_id where c.name = $1 order by 1`,
        [consumer],
      ),
    held: (consumer: string) =>
      texts(
        `select concat_ws(' ', message_id, state, held.code) as text from onceward.held
         join onceward.consumer c on c.id = consumer_id where c.name = $1 order by 1`,
        [consumer],
      ),
    error: async (consumer: string) =>
      (
        await texts(
          `select error as text from onceward.held
           join onceward.consumer c on c.id = consumer_id where c.name = $1`,
          [consumer],
        )
      )[0]!,
    attempts: () => texts('select message_id as text from onceward.attempt order by 1'),
    async [Symbol.asyncDispose]() {
      await pool.end()
      await database.drop()
    },
  }
}

export type Effects = Awaited<ReturnType<typeof openEffects>>

let consumers = 0

/** A consumer on a memory queue whose handlers write through a library. */
export async function startConsumer<Tx>(
  url: string,
  library: Library<Tx>,
  contract: Partial<ConsumerContract<Job, Tx>> = {},
  options: TransactionOptions = {},
) {
  const lines: LogLine[] = []
  const line =
    (level: LogLine['level']) =>
    (message: string, fields: object = {}) =>
      void lines.push({ level, message, fields: { ...fields } })
  const log = { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') }
  const queue = new MemoryQueue()
  const opened = library.open(url, { log, ...options })
  const consumer = defineConsumer<Job, Tx>({
    name: `orm_${++consumers}`,
    owner: 'tests',
    risk: 'money',
    source: { kind: 'memory' },
    identity: { id: m => m.id },
    failure: { attemptsMax: 2, delayMs: 1, delayMaxMs: 1 },
    ...(contract.handleBatch === undefined &&
      contract.effect === undefined && {
        handle: async ({ message, tx }) => void (await library.write(tx, message.id)),
      }),
    ...contract,
  })
  const env = { ...realEnvironment(), log }
  const one = new ConsumerProcess({ consumer, source: queue, store: opened.store, env, instance: 'tests' })
  await one.start()
  return {
    name: consumer.name,
    process: one,
    store: opened.store,
    queue,
    lines,
    publish: (...ids: readonly string[]) =>
      queue.publish(...ids.map(id => ({ body: JSON.stringify({ id }) }))),
    settled: () =>
      until('everything is settled, or the consumer halted', () => {
        return one.state === 'halted' || queue.unsettled === 0
      }),
    async [Symbol.asyncDispose]() {
      if (one.state === 'running') await one.drain(5_000)
      await opened.close()
    },
  }
}

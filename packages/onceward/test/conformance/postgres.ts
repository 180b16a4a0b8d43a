import { randomBytes } from 'node:crypto'
import type { SqlTransaction } from 'onceward'
import {
  createPool,
  createPostgresSource,
  createPostgresStore,
  createQueue,
  migrate,
  postgresQueue,
  publish,
} from 'onceward/postgres'
import type { HeldRow, IntentRow, LossRow, Position, SourceFactory, StoreFactory } from 'onceward/testing'
import { lieInDays } from '../retention/lie-in-days.ts'
import { createDatabase, skipWithout } from '../services/services.ts'

type Pool = ReturnType<typeof createPool>

/**
 * One database for a test file, and its connections; consumers and queues of a case have names of their own.
 */
export async function openDatabase({ days = false } = {}) {
  const { skip } = await skipWithout('postgres')
  if (skip !== undefined) return { unavailable: skip, url: '', ...openPools(''), close: async () => {} }
  const database = await createDatabase()
  const pools = openPools(database.url)
  await migrate(pools.outside)
  if (days) await lieInDays(pools.outside)
  await pools.outside.query(
    'create table effect (seq bigint generated always as identity primary key, key text not null)',
  )
  return {
    unavailable: undefined,
    url: database.url,
    ...pools,
    async close() {
      await Promise.all(Object.values(pools).map(pool => pool.end()))
      await database.drop()
    },
  }
}

/** Of two processes, and of who looks at them from outside. */
const openPools = (url: string) => ({
  first: createPool(url, { max: 14 }),
  second: createPool(url, { max: 14 }),
  outside: createPool(url, { max: 3 }),
})

export type Database = Awaited<ReturnType<typeof openDatabase>>

export function postgresStore({
  unavailable,
  first,
  second,
  outside,
}: Database): StoreFactory<SqlTransaction> {
  return {
    unavailable,
    create: async () => ({
      store: createPostgresStore({ pool: first }),
      second: createPostgresStore({ pool: second }),
      apply: async (tx, key) => void (await tx.query('insert into effect (key) values ($1)', [key])),
      fail: async tx => void (await tx.query('select 1 / 0')),
      ...(await readers(outside)),
      close: async () => {},
    }),
  }
}

/** What a case sees of its database: effects since it began. */
export async function readers(pool: Pool) {
  const { rows } = await pool.query('select coalesce(max(seq), 0) as since from effect')
  const { since } = rows[0]
  const one = async (sql: string, values: unknown[]) => (await pool.query(sql, values)).rows[0]
  const ofConsumer = `consumer_id = (select id from onceward.consumer where name = $1 and generation = 1)`
  return {
    applied: async () =>
      (await pool.query('select key from effect where seq > $1 order by seq', [since])).rows.map(
        row => row.key as string,
      ),
    marker: async (consumer: string, id: string) =>
      (
        await one(`select status::text from onceward.inbox where ${ofConsumer} and message_id = $2`, [
          consumer,
          id,
        ])
      )?.status ?? null,
    businessKey: async (consumer: string, key: string) =>
      (
        await one(`select message_id from onceward.business_key where ${ofConsumer} and key = $2`, [
          consumer,
          key,
        ])
      )?.message_id ?? null,
    held: async (consumer: string): Promise<HeldRow[]> =>
      (
        await pool.query(
          `select message_id as id, state::text, seen, attempts, code, reason, body
           from onceward.held where ${ofConsumer} order by id`,
          [consumer],
        )
      ).rows,
    attempts: async (consumer: string, id: string) =>
      (
        await one(`select count(*)::int as n from onceward.attempt where ${ofConsumer} and message_id = $2`, [
          consumer,
          id,
        ])
      ).n as number,
    position: async (consumer: string, partition: string, generation = 1): Promise<Position | null> =>
      (await one(
        `select incarnation, next from onceward.checkpoint join onceward.consumer on consumer.id = consumer_id
         where name = $1 and partition = $2 and generation = $3 and next is not null`,
        [consumer, partition, generation],
      )) ?? null,
    losses: async (consumer: string): Promise<LossRow[]> =>
      (await pool.query(`select * from onceward.loss where ${ofConsumer} order by id`, [consumer])).rows.map(
        row => ({
          partition: row.partition,
          from: { incarnation: row.from_incarnation, next: row.from_position },
          to: row.to_position === null ? null : { incarnation: row.to_incarnation, next: row.to_position },
          records: row.records === null ? null : Number(row.records),
        }),
      ),
    acceptLoss: async (consumer: string, partition: string) =>
      void (await pool.query(
        `update onceward.loss set accepted_at = clock_timestamp() where ${ofConsumer} and partition = $2`,
        [consumer, partition],
      )),
    intents: async (consumer: string): Promise<IntentRow[]> =>
      (
        await pool.query(
          'select target, effect_key as key, body from onceward.ledger where consumer_name = $1',
          [consumer],
        )
      ).rows,
    outbox: async (queue: string): Promise<string[]> =>
      (
        await pool.query('select message_id from onceward.outbox where queue = $1 order by id', [queue])
      ).rows.map(row => row.message_id),
    waiting: async () =>
      (
        await one(
          `select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
          [],
        )
      ).n as number,
  }
}

/** Long enough that a busy machine keeps it, short enough that its loss is noticed soon. */
const leaseMs = 4_000

export function postgresSource({ unavailable, first, second, outside }: Database): SourceFactory {
  return {
    unavailable,
    async create({ keyOrder }) {
      const name = `conformance.${randomBytes(6).toString('hex')}`
      await createQueue(outside, name)
      const declaration = postgresQueue(name, { keyOrder, leaseMs })
      const ofQueue = `queue_id = (select id from onceward.queue where name = $1)`
      return {
        source: createPostgresSource(declaration, { pool: first }),
        another: () => createPostgresSource(declaration, { pool: second }),
        publish: messages => publish(outside, name, messages),
        remaining: async () =>
          (
            await outside.query(`select count(*)::int as n from onceward.queue_message where ${ofQueue}`, [
              name,
            ])
          ).rows[0].n,
        // What a cut of the network comes to: the lease runs out before it is extended.
        disconnect: async () =>
          void (await outside.query(
            `update onceward.queue_lease set until = clock_timestamp() - interval '1 second' where ${ofQueue}`,
            [name],
          )),
        close: async () => {},
      }
    },
  }
}

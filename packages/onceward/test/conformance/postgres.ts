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
import type { GapRow, HeldRow, IntentRow, Position, SourceFactory, StoreFactory } from 'onceward/testing'
import { createDatabase, skipWithout } from '../services/services.ts'

type Pool = ReturnType<typeof createPool>

/** One database for a test file; consumers and queues of a case have names of their own. */
export async function openDatabase() {
  const { skip } = await skipWithout('postgres')
  if (skip !== undefined) return { unavailable: skip, url: '', close: async () => {} }
  const database = await createDatabase()
  const pool = createPool(database.url, { max: 4 })
  await migrate(pool)
  await pool.query(
    'create table effect (seq bigint generated always as identity primary key, key text not null)',
  )
  await pool.end()
  return { unavailable: undefined, url: database.url, close: () => database.drop() }
}

export type Database = Awaited<ReturnType<typeof openDatabase>>

export function postgresStore({ url, unavailable }: Database): StoreFactory<SqlTransaction> {
  return {
    unavailable,
    async create() {
      const pools = [createPool(url), createPool(url), createPool(url, { max: 2 })] as const
      const [first, second, reader] = pools
      return {
        store: createPostgresStore({ pool: first }),
        second: createPostgresStore({ pool: second }),
        apply: async (tx, key) => void (await tx.query('insert into effect (key) values ($1)', [key])),
        fail: async tx => void (await tx.query('select 1 / 0')),
        ...readers(reader),
        close: async () => void (await Promise.all(pools.map(pool => pool.end()))),
      }
    },
  }
}

export function readers(pool: Pool) {
  const one = async (sql: string, values: unknown[]) => (await pool.query(sql, values)).rows[0]
  const ofConsumer = `consumer_id = (select id from onceward.consumer where name = $1 and generation = 1)`
  return {
    applied: async () =>
      (await pool.query('select key from effect order by seq')).rows.map(row => row.key as string),
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
    gaps: async (consumer: string): Promise<GapRow[]> =>
      (await pool.query(`select * from onceward.gap where ${ofConsumer} order by id`, [consumer])).rows.map(
        row => ({
          partition: row.partition,
          from: { incarnation: row.from_incarnation, next: row.from_next },
          to: row.to_next === null ? null : { incarnation: row.to_incarnation, next: row.to_next },
          records: row.records === null ? null : Number(row.records),
        }),
      ),
    acceptGap: async (consumer: string, partition: string) =>
      void (await pool.query(
        `update onceward.gap set accepted_at = clock_timestamp() where ${ofConsumer} and partition = $2`,
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

export function postgresSource({ url, unavailable }: Database): SourceFactory {
  return {
    unavailable,
    async create({ keyOrder }) {
      const pools = [
        createPool(url, { max: 4 }),
        createPool(url, { max: 4 }),
        createPool(url, { max: 2 }),
      ] as const
      const [first, second, outside] = pools
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
        close: async () => void (await Promise.all(pools.map(pool => pool.end()))),
      }
    },
  }
}

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres'
import createKnex, { type Knex } from 'knex'
import { Kysely, PostgresDialect, SqliteDialect, type Transaction } from 'kysely'
import { type Consumer, type ConsumerContract, defineConsumer, runConsumer, type Store } from 'onceward'
import { createDrizzleStore, type DrizzleTransaction } from 'onceward/drizzle'
import { createKnexStore } from 'onceward/knex'
import { createKyselyStore } from 'onceward/kysely'
import { createPortStore } from 'onceward/postgres'
import pg from 'pg'
import { effect, type schema, type Tables } from './libraries.ts'

type Job = { id: string }
const around: Omit<ConsumerContract<Job, never>, 'handle' | 'handleBatch'> = {
  name: 'typed',
  owner: 'tests',
  risk: 'money',
  source: { kind: 'memory' },
  identity: { id: m => m.id },
}
const databaseUrl = 'postgres://nowhere.invalid/none'

/** Compiled, never called: code that must type-check, and code that must not. */
export const typed = {
  kysely(db: Kysely<Tables>, takes: (tx: Transaction<Tables>) => Promise<void>) {
    const store: Store<Transaction<Tables>> = createKyselyStore(db)
    const consumer = defineConsumer<Job, Transaction<Tables>>({
      ...around,
      async handle({ message, tx }) {
        await takes(tx)
        await tx.insertInto('effect').values({ key: message.id }).execute()
        // @ts-expect-error no such table
        tx.insertInto('nowhere')
      },
    })
    return runConsumer(consumer, { databaseUrl, store })
  },

  drizzle(db: NodePgDatabase<typeof schema> & { $client: pg.Pool }) {
    type Handed = Parameters<Parameters<typeof db.transaction>[0]>[0]
    const takes = async (tx: Handed) => void (await tx.query.effect.findFirst())
    const store: Store<Handed> = createDrizzleStore(db)
    const consumer = defineConsumer<Job, DrizzleTransaction<typeof schema>>({
      ...around,
      async handle({ message, tx }) {
        await takes(tx)
        await tx.insert(effect).values({ key: message.id })
        // @ts-expect-error no such column
        tx.insert(effect).values({ keys: message.id })
      },
    })
    return runConsumer(consumer, { databaseUrl, store })
  },

  knex(knex: Knex, takes: (tx: Knex.Transaction) => Promise<void>) {
    const store: Store<Knex.Transaction> = createKnexStore(knex)
    const consumer = defineConsumer<Job, Knex.Transaction>({
      ...around,
      async handle({ message, tx }) {
        await takes(tx)
        await tx('effect').insert({ key: message.id })
        // @ts-expect-error Knex has no such method
        tx.insertInto('effect')
      },
    })
    return runConsumer(consumer, { databaseUrl, store })
  },

  mixed(consumer: Consumer<Job, Knex.Transaction>, db: Kysely<Tables>) {
    // @ts-expect-error handlers for Knex on a store of Kysely
    void runConsumer(consumer, { databaseUrl, store: createKyselyStore(db) })
    // @ts-expect-error handlers for Knex and no store of Knex
    void runConsumer(consumer, { databaseUrl })
  },
}

test('a library with another configuration is refused before anything is started', async () => {
  const refused = { code: 'configuration', message: /Nothing was started/ }
  const sqlite = new Kysely<Tables>({ dialect: new SqliteDialect({ database: {} as never }) })
  assert.throws(() => createKyselyStore(sqlite), refused)
  assert.throws(() => createDrizzleStore(drizzle({ client: new pg.Client() }) as never), refused)
  assert.throws(() => createDrizzleStore(drizzle.mock() as never), refused)
  assert.equal(createKnexStore(createKnex({ client: 'pg' })).capabilities.concurrent, false)
  assert.throws(() => createKnexStore({ client: { driverName: 'mysql2' } } as never), refused)
  assert.throws(() => createPortStore({ dialect: 'mysql' } as never), refused)
  const pool = new pg.Pool({ connectionString: databaseUrl })
  assert.equal(createDrizzleStore(drizzle({ client: pool })).capabilities.concurrent, false)
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
  assert.equal(createKyselyStore(db).capabilities.concurrent, false)
})

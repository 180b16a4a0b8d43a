import { sql as drizzleSql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import { bigint, pgTable, text } from 'drizzle-orm/pg-core'
import createKnex, { type Knex } from 'knex'
import { type Generated, Kysely, sql as kyselySql, PostgresDialect, type Transaction } from 'kysely'
import type { Store } from 'onceward'
import { createDrizzleStore, type DrizzleTransaction } from 'onceward/drizzle'
import { createKnexStore } from 'onceward/knex'
import { createKyselyStore } from 'onceward/kysely'
import type { TransactionOptions } from 'onceward/postgres'
import pg from 'pg'

/** How a library writes to the business table `effect (seq, key)`, and sends any text. */
export interface Library<Tx> {
  readonly name: string
  open(url: string, options?: TransactionOptions): Opened<Tx>
  /** With the query builder of the library. */
  write(tx: Tx, key: string): Promise<unknown>
  /** A text of the user; answers what the library does. */
  send(tx: Tx, text: string): Promise<unknown>
}

export interface Opened<Tx> {
  readonly store: Store<Tx>
  close(): Promise<unknown>
}

/**
 * A pool as users create it, without pipelining. Without the listeners a connection lost in use ends the
 * process.
 */
export function userPool(url: string, options: pg.PoolConfig = {}): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, ...options })
  pool.on('error', () => {})
  pool.on('connect', client => client.on('error', () => {}))
  return pool
}

export interface Tables {
  effect: { seq: Generated<string>; key: string }
}

export const kyselyLibrary: Library<Transaction<Tables>> = {
  name: 'Kysely',
  open(url, options) {
    const pool = userPool(url)
    const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
    return { store: createKyselyStore(db, { ...options, pool }), close: () => db.destroy() }
  },
  write: (tx, key) => tx.insertInto('effect').values({ key }).execute(),
  send: (tx, text) => kyselySql.raw(text).execute(tx),
}

export const effect = pgTable('effect', {
  seq: bigint({ mode: 'number' }).generatedAlwaysAsIdentity(),
  key: text().notNull(),
})
export const schema = { effect }

const drizzleOn = (name: string, pool: pg.PoolConfig): Library<DrizzleTransaction<typeof schema>> => ({
  name,
  open(url, options) {
    const client = userPool(url, pool)
    return {
      store: createDrizzleStore(drizzle({ client, schema }), options),
      close: () => client.end(),
    }
  },
  write: async (tx, key) => void (await tx.insert(effect).values({ key })),
  send: async (tx, text) => tx.execute(drizzleSql.raw(text)),
})

export const drizzleLibrary = drizzleOn('Drizzle', {})
export const drizzlePipelined = drizzleOn('Drizzle on a pipelining pool', { pipeline: true } as pg.PoolConfig)

export const knexLibrary: Library<Knex.Transaction> = {
  name: 'Knex',
  open(url, options) {
    const knex = createKnex({ client: 'pg', connection: url, pool: { min: 0, max: 10 } })
    return { store: createKnexStore(knex, options), close: () => knex.destroy() }
  },
  write: async (tx, key) => void (await tx('effect').insert({ key })),
  send: async (tx, text) => tx.raw(text),
}

export const libraries = [
  kyselyLibrary,
  drizzleLibrary,
  drizzlePipelined,
  knexLibrary,
] as readonly Library<unknown>[]

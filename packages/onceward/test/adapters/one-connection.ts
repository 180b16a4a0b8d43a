import { createRequire } from 'node:module'
import { drizzle } from 'drizzle-orm/node-postgres'
import createKnex, { type Knex } from 'knex'
import { Kysely, sql as kyselySql, PostgresDialect, type Transaction } from 'kysely'
import type { SqlTransaction, Store } from 'onceward'
import { createDrizzleStore } from 'onceward/drizzle'
import { createKnexStore } from 'onceward/knex'
import { createKyselyStore } from 'onceward/kysely'
import { createPool, createPortStore, createPostgresStore } from 'onceward/postgres'
import type { HandlesUnderTest } from 'onceward/testing'
import type pg from 'pg'
import {
  drizzleLibrary,
  knexLibrary,
  kyselyLibrary,
  type Library,
  schema,
  type Tables,
  userPool,
} from './libraries.ts'
import { type QueueingHandle, queueingPort } from './queueing-port.ts'

export type OneConnection = Omit<HandlesUnderTest<unknown>, 'applied' | 'sessions'>

/** The store of each library on a pool of one connection. */
export const onOneConnection: Record<string, (url: string) => OneConnection> = {
  Kysely: kysely,
  Knex: knex,
  Drizzle: url => drizzleOn(url, {}),
  'Drizzle on a pipelining pool': url => drizzleOn(url, { pipeline: true } as pg.PoolConfig),
  pg: url => pooled(userPool(url, { max: 1 })),
  'pg on a pipelining pool': url => pooled(createPool(url, { max: 1 }) as unknown as pg.Pool),
  'a port whose library queues': port,
}

const series = 'generate_series(1, 10000)'
const Cursor = createRequire(import.meta.url)('pg-cursor')

function kysely(url: string): OneConnection {
  const pool = userPool(url, { max: 1 })
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool, cursor: Cursor }) })
  const rows = (tx: Transaction<Tables>) =>
    tx
      .selectNoFrom(kyselySql<number>`${kyselySql.raw(series)}`.as('n'))
      .stream(10)
      [Symbol.asyncIterator]()
  return {
    ...withLibrary(kyselyLibrary, createKyselyStore(db, { pool })),
    rows: tx => rows(tx as Transaction<Tables>),
    close: () => db.destroy(),
  }
}

function knex(url: string): OneConnection {
  const one = createKnex({ client: 'pg', connection: url, pool: { min: 0, max: 1 } })
  const rows = (tx: Knex.Transaction) => tx.select(tx.raw(`${series} as n`)).stream({ highWaterMark: 10 })
  return {
    ...withLibrary(knexLibrary, createKnexStore(one)),
    rows: tx => rows(tx as Knex.Transaction)[Symbol.asyncIterator](),
    close: () => one.destroy(),
  }
}

function drizzleOn(url: string, options: pg.PoolConfig): OneConnection {
  const client = userPool(url, { ...options, max: 1 })
  return {
    ...withLibrary(drizzleLibrary, createDrizzleStore(drizzle({ client, schema }))),
    close: () => client.end(),
  }
}

const insert = 'insert into effect (key) values ($1)'
type Sends = Pick<Library<SqlTransaction>, 'write' | 'send'>
const texts: Sends = {
  write: (tx, key) => tx.query(insert, [key]),
  send: (tx, text) => tx.query(text),
}

function pooled(pool: pg.Pool): OneConnection {
  const store = createPostgresStore({ pool: pool as never })
  return { ...withLibrary(texts, store), close: () => pool.end() }
}

function port(url: string): OneConnection {
  const pool = userPool(url, { max: 1 })
  const ofPort = texts as unknown as Pick<Library<QueueingHandle>, 'write' | 'send'>
  return { ...withLibrary(ofPort, createPortStore(queueingPort(pool))), close: () => pool.end() }
}

function withLibrary<Tx>({ write, send }: Pick<Library<Tx>, 'write' | 'send'>, store: Store<Tx>) {
  return {
    store: store as Store<unknown>,
    apply: async (tx: unknown, key: string) => void (await write(tx as Tx, key)),
    fail: async (tx: unknown) => void (await send(tx as Tx, 'select 1 / 0')),
    pause: async (tx: unknown, ms: number) => void (await send(tx as Tx, `select pg_sleep(${ms / 1_000})`)),
  }
}

import { eq, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import { bigint, integer, pgTable } from 'drizzle-orm/pg-core'
import createKnex, { type Knex } from 'knex'
import { Kysely, PostgresDialect, type Transaction } from 'kysely'
import { defineConsumer, type Store } from 'onceward'
import { createDrizzleStore, type DrizzleTransaction } from 'onceward/drizzle'
import { createKnexStore } from 'onceward/knex'
import { createKyselyStore } from 'onceward/kysely'
import pg from 'pg'
import type { Increment } from '../workload.ts'
import { insertFresh, parse } from './apply-batch.ts'
import { byKey } from './apply-each.ts'
import type { OpenContender } from './contender.ts'
import { handBatchMade } from './hand-batch.ts'
import { consumeInStore, rabbitSource } from './onceward.ts'

type Query = Pick<pg.ClientBase, 'query'>
type Apply = (bodies: readonly Buffer[]) => Promise<void>

/** A query builder: its loop by hand, its store, and how a handler writes with it. */
interface Builder<Tx> {
  open(url: string): { readonly apply: Apply; readonly store: Store<Tx> }
  write(tx: Tx, message: Increment): PromiseLike<unknown>
}

async function freshOf(client: Query, bodies: readonly Buffer[]): Promise<readonly Increment[]> {
  const batch = bodies.map(parse).sort((a, b) => (a.message.id < b.message.id ? -1 : 1))
  return byKey(await insertFresh(client as pg.ClientBase, batch))
}

interface Tables {
  counter: { key: number; total: number }
}

const kysely: Builder<Transaction<Tables>> = {
  open(url) {
    const pool = new pg.Pool({ connectionString: url })
    const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
    const apply: Apply = bodies =>
      db.transaction().execute(async trx => {
        const client = { query: (text: string, values: unknown[]) => runKysely(trx, text, values) }
        for (const message of await freshOf(client as never, bodies)) await kysely.write(trx, message)
      })
    return { apply, store: createKyselyStore(db, { pool }) }
  },
  write: (tx, { key, amount }) =>
    tx
      .updateTable('counter')
      .set(({ eb }) => ({ total: eb('total', '+', amount) }))
      .where('key', '=', key)
      .execute(),
}

const runKysely = (trx: Transaction<Tables>, text: string, values: unknown[]) =>
  trx.executeQuery({ sql: text, parameters: values, query: { kind: 'RawNode' }, queryId: {} } as never)

const counter = pgTable('counter', {
  key: integer().primaryKey(),
  total: bigint({ mode: 'number' }).notNull(),
})

type Schema = Record<string, never>

/** On a pool that pipelines, which is the fastest that Drizzle can. */
const drizzled: Builder<DrizzleTransaction<Schema>> = {
  open(url) {
    const client = new pg.Pool({ connectionString: url, pipeline: true } as pg.PoolConfig)
    const db = drizzle({ client })
    const apply: Apply = bodies =>
      db.transaction(async tx => {
        const { session } = tx as unknown as { session: { client: Query } }
        const fresh = await freshOf(session.client, bodies)
        await Promise.all(fresh.map(message => drizzled.write(tx as never, message)))
      })
    return { apply, store: createDrizzleStore(db) as never }
  },
  write: (tx, { key, amount }) =>
    tx
      .update(counter)
      .set({ total: sql`${counter.total} + ${amount}` })
      .where(eq(counter.key, key)),
}

const knexed: Builder<Knex.Transaction> = {
  open(url) {
    const knex = createKnex({ client: 'pg', connection: url, pool: { min: 0, max: 10 } })
    const apply: Apply = bodies =>
      knex.transaction(async trx => {
        const connection = await trx.client.acquireConnection()
        for (const message of await freshOf(connection, bodies)) await knexed.write(trx, message)
      })
    return { apply, store: createKnexStore(knex) }
  },
  write: (tx, { key, amount }) => tx('counter').where({ key }).increment('total', amount),
}

const byHand = <Tx>(builder: Builder<Tx>): OpenContender =>
  handBatchMade(place => {
    const { apply } = builder.open(place.databaseUrl)
    return (_client, bodies) => apply(bodies)
  })

const asConsumer =
  <Tx>(name: string, builder: Builder<Tx>): OpenContender =>
  async place => {
    const { store } = builder.open(place.databaseUrl)
    return consumeInStore(
      store,
      source =>
        defineConsumer<Increment, Tx>({
          name: `increments_by_${name}`,
          owner: 'bench',
          risk: 'projection',
          source,
          identity: { id: message => message.id },
          async handle({ message, tx }) {
            await builder.write(tx, message)
          },
        }),
      rabbitSource(place),
    )
  }

export const openHandKysely = byHand(kysely)
export const openHandDrizzle = byHand(drizzled)
export const openHandKnex = byHand(knexed)
export const openOncewardKysely = asConsumer('kysely', kysely)
export const openOncewardDrizzle = asConsumer('drizzle', drizzled)
export const openOncewardKnex = asConsumer('knex', knexed)

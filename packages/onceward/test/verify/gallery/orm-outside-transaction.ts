import { Kysely, PostgresDialect, type Transaction } from 'kysely'
import { defineConsumer } from 'onceward'
import { createKyselyStore } from 'onceward/kysely'
import { postgresQueue } from 'onceward/postgres'
import pg from 'pg'
import { balances, type Exhibit, type Payment, payments } from './broken.ts'

type Tables = { booking: Pick<Payment, 'id' | 'account' | 'amount'> }

const pool = new pg.Pool({ connectionString: process.env.ONCEWARD_DATABASE_URL, query_timeout: 60_000 })
pool.on('error', () => {}).on('connect', client => client.on('error', () => {}))
const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
export const store = createKyselyStore(db, { pool })

export default defineConsumer<Payment, Transaction<Tables>>({
  name: 'orm_outside',
  owner: 'gallery',
  risk: 'low value',
  source: postgresQueue('gallery'),
  identity: { id: m => m.id },
  async handle({ message: { id, account, amount } }) {
    await db.insertInto('booking').values({ id, account, amount }).execute()
  },
})

export const exhibit: Exhibit = {
  mistake: 'the handler uses the database object of the library instead of its transaction',
  tables: balances,
  samples: payments.slice(0, 1),
  only: ['leak'],
  says: /sends a statement on another connection \("insert into "booking"/,
}

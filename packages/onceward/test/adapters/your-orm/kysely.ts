import { Kysely, PostgresDialect, type Transaction } from 'kysely'
import { defineConsumer } from 'onceward'
import { createKyselyStore } from 'onceward/kysely'
import { postgresQueue } from 'onceward/postgres'
import pg from 'pg'

type Capture = { id: string; amount: number }
type Tables = { capture: Capture }

const pool = new pg.Pool({ connectionString: process.env.ONCEWARD_DATABASE_URL, query_timeout: 60_000 })
pool.on('error', () => {}).on('connect', client => client.on('error', () => {}))
const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
export const store = createKyselyStore(db, { pool })

export default defineConsumer<Capture, Transaction<Tables>>({
  name: 'payment_capture',
  owner: 'payments',
  risk: 'money',
  source: postgresQueue('captures.q'),
  identity: { id: m => m.id },
  async handle({ message, tx }) {
    await tx.insertInto('capture').values(message).execute()
  },
})

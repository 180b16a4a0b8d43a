import { drizzle } from 'drizzle-orm/node-postgres'
import { integer, pgTable, text } from 'drizzle-orm/pg-core'
import { defineConsumer } from 'onceward'
import { createDrizzleStore, type DrizzleTransaction } from 'onceward/drizzle'
import { postgresQueue } from 'onceward/postgres'
import pg from 'pg'

const capture = pgTable('capture', { id: text().primaryKey(), amount: integer().notNull() })
const schema = { capture }

const client = new pg.Pool({ connectionString: process.env.ONCEWARD_DATABASE_URL, query_timeout: 60_000 })
client.on('error', () => {})
export const store = createDrizzleStore(drizzle({ client, schema }))

export default defineConsumer<typeof capture.$inferInsert, DrizzleTransaction<typeof schema>>({
  name: 'payment_capture',
  owner: 'payments',
  risk: 'money',
  source: postgresQueue('captures.q'),
  identity: { id: m => m.id },
  async handle({ message, tx }) {
    await tx.insert(capture).values(message)
  },
})

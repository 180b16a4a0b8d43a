import createKnex, { type Knex } from 'knex'
import { defineConsumer } from 'onceward'
import { createKnexStore } from 'onceward/knex'
import { postgresQueue } from 'onceward/postgres'

type Capture = { id: string; amount: number }

const connection = { connectionString: process.env.ONCEWARD_DATABASE_URL!, query_timeout: 60_000 }
export const store = createKnexStore(createKnex({ client: 'pg', connection, compileSqlOnError: false }))

export default defineConsumer<Capture, Knex.Transaction>({
  name: 'payment_capture',
  owner: 'payments',
  risk: 'money',
  source: postgresQueue('captures.q'),
  identity: { id: m => m.id },
  async handle({ message, tx }) {
    await tx('capture').insert(message)
  },
})

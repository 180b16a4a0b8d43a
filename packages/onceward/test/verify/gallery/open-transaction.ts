import pg from 'pg'
import { balances, broken, type Exhibit, payments } from './broken.ts'

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL ?? '', max: 4 })

export default broken('open_transaction', async ({ message, tx }) => {
  const client = await pool.connect()
  await client.query('begin')
  await client.query('select total from balance where account = $1 for update', [message.account])
  await tx.query('insert into booking values ($1, $2, $3)', [message.id, message.account, message.amount])
})

export const exhibit: Exhibit = {
  mistake: 'a transaction of its own is left open',
  tables: balances,
  samples: payments.slice(0, 1),
  only: [],
  says: /leaves a transaction open on a connection of its own/,
}

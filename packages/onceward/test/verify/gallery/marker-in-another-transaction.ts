import pg from 'pg'
import { balances, broken, type Exhibit, payments } from './broken.ts'

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL ?? '', max: 2 })

export default broken('other_connection', async ({ message, tx }) => {
  await pool.query('update balance set total = total + $2 where account = $1', [
    message.account,
    message.amount,
  ])
  await tx.query('insert into booking values ($1, $2, $3)', [message.id, message.account, message.amount])
})

export const exhibit: Exhibit = {
  mistake: 'the effect is written on another connection than the marker',
  tables: balances,
  samples: payments,
  only: ['statement'],
  more: { fault: 'statement:1' },
  says: /sends a statement on another connection .*update balance/,
}

import { balances, broken, type Exhibit, payments } from './broken.ts'

export default broken('early_call', async ({ message, tx }) => {
  await fetch('http://127.0.0.1:8097/captures', { method: 'POST', body: JSON.stringify(message) })
  await tx.query('insert into booking values ($1, $2, $3)', [message.id, message.account, message.amount])
})

export const exhibit: Exhibit = {
  mistake: 'an external system is called before the commit',
  tables: balances,
  samples: payments.slice(0, 1),
  only: [],
  says: /calls 127\.0\.0\.1:8097 before the transaction commits/,
}

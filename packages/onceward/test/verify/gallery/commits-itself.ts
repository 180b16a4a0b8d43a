import { balances, broken, type Exhibit, payments } from './broken.ts'

export default broken('commits', async ({ message, tx }) => {
  await tx.query('insert into booking values ($1, $2, $3)', [message.id, message.account, message.amount])
  await tx.query('commit')
})

export const exhibit: Exhibit = {
  mistake: 'the handler commits the transaction itself',
  tables: balances,
  samples: payments.slice(0, 1),
  only: ['leak'],
  says: /No message was applied in the clean run.*commit/i,
}

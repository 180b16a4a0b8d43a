import { balances, broken, type Exhibit, payments } from './broken.ts'

export default broken('not_awaited', ({ message, tx }) => {
  void tx.query('insert into booking values ($1, $2, $3)', [message.id, message.account, message.amount])
})

export const exhibit: Exhibit = {
  mistake: 'a statement is not awaited',
  tables: balances,
  samples: payments.slice(0, 1),
  only: [],
  says: /returns before a statement on `tx` is answered/,
}

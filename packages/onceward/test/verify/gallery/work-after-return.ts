import { balances, broken, type Exhibit, payments } from './broken.ts'

export default broken('after_return', ({ message, tx }) => {
  setTimeout(() => {
    tx.query('insert into booking values ($1, $2, $3)', [message.id, message.account, message.amount]).catch(
      () => {},
    )
  }, 5)
})

export const exhibit: Exhibit = {
  mistake: 'work continues after the handler returned',
  tables: balances,
  samples: payments,
  only: [],
  says: /uses `tx` after it returned/,
}

import { randomUUID } from 'node:crypto'
import { balances, broken, type Exhibit, payments } from './broken.ts'

export default broken(
  'random_identity',
  async ({ message, tx }) => {
    await tx.query('update balance set total = total + $2 where account = $1', [
      message.account,
      message.amount,
    ])
  },
  { identity: { id: () => randomUUID() } },
)

export const exhibit: Exhibit = {
  mistake: 'the message id is made when the message arrives',
  tables: balances,
  samples: payments,
  only: [],
  says: /identity\.id depends on the (call|random), not only on the message/,
}

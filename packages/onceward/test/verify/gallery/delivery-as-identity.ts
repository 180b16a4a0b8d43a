import { balances, broken, type Exhibit, payments } from './broken.ts'

export default broken(
  'delivery_identity',
  async ({ message, tx }) => {
    await tx.query('update balance set total = total + $2 where account = $1', [
      message.account,
      message.amount,
    ])
  },
  { identity: { id: (m, delivery) => `${m.id}/${String(delivery.headers['x-request-id'] ?? 'first')}` } },
)

export const exhibit: Exhibit = {
  mistake: 'the message id contains a header that changes with each delivery',
  tables: balances,
  samples: payments,
  only: [],
  says: /identity\.id depends on the delivery, not only on the message/,
}

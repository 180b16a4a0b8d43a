import { balances, broken, type Exhibit, payments } from './broken.ts'

export default broken(
  'entity_identity',
  async ({ message, tx }) => {
    await tx.query('update balance set total = total + $2 where account = $1', [
      message.account,
      message.amount,
    ])
  },
  { identity: { id: m => m.account } },
)

export const exhibit: Exhibit = {
  mistake: 'the message id is the entity, so a correction looks like a duplicate',
  tables: balances,
  samples: payments,
  only: ['leak'],
  says: /Two messages with different content have the identity a: .* a correction never arrives/,
}

import { balances, broken, type Exhibit, payments } from './broken.ts'

export default broken(
  'at_most_once',
  async ({ message, tx }) => {
    await tx.query('insert into booking values ($1, $2, $3)', [message.id, message.account, message.amount])
  },
  { settle: { when: 'before effect', lossAcceptable: 'nothing depends on it' } },
)

export const exhibit: Exhibit = {
  mistake: 'messages are acknowledged before their effect',
  tables: balances,
  samples: payments,
  only: ['statement'],
  more: { fault: 'statement:1' },
  says: /settles before the effect .*loses the messages in flight/,
}

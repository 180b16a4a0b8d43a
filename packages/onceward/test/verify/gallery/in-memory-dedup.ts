import { balances, broken, type Exhibit, payments } from './broken.ts'

const seen = new Set<string>()

export default broken('memory_dedup', async ({ message, tx }) => {
  if (seen.has(message.id)) return
  seen.add(message.id)
  await tx.query('insert into booking values ($1, $2, $3)', [message.id, message.account, message.amount])
})

export const exhibit: Exhibit = {
  mistake: 'repeated messages are recognised by a set in memory',
  tables: balances,
  samples: payments,
  only: ['rollback'],
  more: { fault: 'rollback:1' },
  says: /keeps something in memory between messages/,
}

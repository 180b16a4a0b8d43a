import { file } from 'onceward/file'
import { balances, broken, type Exhibit, payments } from './broken.ts'

export default broken(
  'by_position',
  async ({ message, tx }) => {
    await tx.query('update balance set total = total + $2 where account = $1', [
      message.account,
      message.amount,
    ])
  },
  { source: file('payments.jsonl'), order: 'partition', dedup: 'checkpoint' },
)

export const exhibit: Exhibit = {
  mistake: 'a log is deduplicated by position alone, and its producer sends twice',
  tables: balances,
  samples: payments,
  only: ['twice'],
  says: /recognises messages by their position in the log only/,
}

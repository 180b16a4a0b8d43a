import { balances, broken, type Exhibit, type Payment, payment } from './broken.ts'

let waiting: Payment[] = []

export default broken(
  'collector',
  async ({ message, tx }) => {
    waiting.push(message)
    if (waiting.length < 3) return
    for (const { id, account, amount } of waiting)
      await tx.query('insert into booking values ($1, $2, $3)', [id, account, amount])
    waiting = []
  },
  { batch: { sizeMax: 1, inFlightMax: 1 } },
)

export const exhibit: Exhibit = {
  mistake: 'messages are collected in memory and written together later',
  tables: balances,
  samples: [1, 2, 3, 4, 5, 6].map(number => payment(number)),
  only: ['point'],
  more: { fault: 'point:batch.committed:2' },
  says: /keeps something in memory between messages/,
}

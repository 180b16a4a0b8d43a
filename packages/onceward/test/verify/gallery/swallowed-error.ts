import { balances, broken, type Exhibit, payment } from './broken.ts'

export default broken('swallowed', async ({ message, tx }) => {
  try {
    await tx.query('insert into booking values ($1, $2, $3)', [
      message.account,
      message.account,
      message.amount,
    ])
  } catch {
    // Already booked.
  }
})

export const exhibit: Exhibit = {
  mistake: 'the error of a statement is caught and ignored',
  tables: balances,
  samples: [payment(1), payment(2)],
  only: [],
  says: /catches the error of a statement on `tx` and continues/,
}

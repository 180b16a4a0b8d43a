import { balances, broken, type Exhibit, payments } from './broken.ts'

export default broken('office_hours', async ({ message: { id, account, amount }, tx }) => {
  const table = new Date().getUTCHours() < 18 ? 'booking' : 'late_booking'
  await tx.query(`insert into ${table} values ($1, $2, $3)`, [id, account, amount])
})

export const exhibit: Exhibit = {
  mistake: 'the present time decides what a message does',
  tables: `${balances}; create table late_booking (like booking)`,
  samples: payments,
  only: ['leak'],
  warns:
    /The number of rows in booking and late_booking depends on the clock or random numbers of the handler/,
}

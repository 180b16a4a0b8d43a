import { balances, broken, type Exhibit, payments } from './broken.ts'

export default broken('exits', async ({ message, tx }) => {
  const { rowCount } = await tx.query('select from booking where id = $1', [message.id])
  if (rowCount === 0) process.exit(7)
})

export const exhibit: Exhibit = {
  mistake: 'the handler ends its process',
  tables: balances,
  samples: payments.slice(0, 1),
  only: ['leak'],
  says: /does not finish its messages without any fault: .*ended by itself/,
}

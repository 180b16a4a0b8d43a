import { balances, broken, type Exhibit, payment } from './broken.ts'

export default broken('hidden_poison', async ({ message: { id, account, amount }, tx }) => {
  try {
    if (!Number.isSafeInteger(amount)) throw new TypeError(`no amount: ${amount}`)
    await tx.query('insert into booking values ($1, $2, $3)', [id, account, amount])
  } catch (error) {
    console.error('skipped', error)
  }
})

export const exhibit: Exhibit = {
  mistake: 'a message that cannot be handled is logged and skipped',
  tables: balances,
  samples: [payment(1), { ...payment(2), amount: 1.5 }],
  only: ['leak'],
  warns: /did nothing for message p-2: .* recorded as applied/,
}

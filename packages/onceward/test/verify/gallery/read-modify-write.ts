import { setImmediate as turn } from 'node:timers/promises'
import { balances, broken, type Exhibit, payments } from './broken.ts'

export default broken('read_write', async ({ message: { account, amount }, tx }) => {
  const { rows } = await tx.query<{ total: string }>('select total from balance where account = $1', [
    account,
  ])
  await turn()
  await tx.query('update balance set total = $2 where account = $1', [
    account,
    Number(rows[0]!.total) + amount,
  ])
})

export const exhibit: Exhibit = {
  mistake: 'a balance is read, computed and written back without a lock',
  tables: balances,
  samples: payments,
  only: ['batch'],
  says: /reads rows and writes what it concluded from them, without a lock/,
}

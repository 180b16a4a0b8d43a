import { setImmediate as turn } from 'node:timers/promises'
import { broken, type Exhibit, payment } from './broken.ts'

export default broken('check_insert', async ({ message: { account, amount }, tx }) => {
  const { rowCount } = await tx.query('select from opened where account = $1', [account])
  await turn()
  if (rowCount === 0) await tx.query('insert into opened values ($1, $2)', [account, amount])
})

export const exhibit: Exhibit = {
  mistake: 'a row is looked for and then inserted, without a unique constraint',
  tables: 'create table opened (account text not null, amount bigint not null)',
  samples: [payment(1), { ...payment(2), amount: 10 }],
  only: ['batch', 'processes'],
  says: /reads rows and writes what it concluded from them, without a lock/,
}

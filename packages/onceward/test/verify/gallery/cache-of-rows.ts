import { balances, broken, type Exhibit, payments } from './broken.ts'

const totals = new Map<string, number>()

export default broken(
  'row_cache',
  async ({ message: { account, amount }, tx }) => {
    if (!totals.has(account)) {
      const { rows } = await tx.query<{ total: string }>(
        'select total from balance where account = $1 for update',
        [account],
      )
      totals.set(account, Number(rows[0]!.total))
    }
    const total = totals.get(account)! + amount
    totals.set(account, total)
    await tx.query('update balance set total = $2 where account = $1', [account, total])
  },
  { batch: { sizeMax: 1, inFlightMax: 1 } },
)

export const exhibit: Exhibit = {
  mistake: 'rows are cached in memory and written back',
  tables: balances,
  samples: payments,
  only: ['rollback'],
  more: { fault: 'rollback:2' },
  says: /keeps something in memory between messages/,
}

import { balances, broken, type Exhibit, payments } from './broken.ts'

export default broken(
  'live_rebuild',
  async ({ message: { id, account, amount }, tx }) => {
    await tx.query('insert into public.booking values ($1, $2, $3) on conflict (id) do nothing', [
      id,
      account,
      amount,
    ])
    await tx.query('update public.balance set total = total + $2 where account = $1', [account, amount])
  },
  { replay: { modes: ['rebuild'], tables: ['balance', 'booking'] } },
)

export const exhibit: Exhibit = {
  mistake: 'a rebuild writes the live tables, because the handler names their schema',
  tables: balances,
  samples: payments,
  only: ['rebuild'],
  says: /A campaign in mode rebuild failed: The rebuild wrote to the live table public\.b/,
}

import { broken, type Exhibit, payment } from './broken.ts'

export default broken('no_guard', async ({ message: { account, amount, version }, tx }) => {
  await tx.query(
    `insert into latest values ($1, $2, $3)
     on conflict (account) do update set amount = excluded.amount, version = excluded.version`,
    [account, amount, version],
  )
})

export const exhibit: Exhibit = {
  mistake: 'a row takes the last message that arrives, not the latest version',
  tables: 'create table latest (account text primary key, amount bigint not null, version bigint not null)',
  samples: [payment(1), payment(2)],
  only: ['order'],
  more: { fault: 'order:1' },
  says: /depends on the order of arrival/,
}

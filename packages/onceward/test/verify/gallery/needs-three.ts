import { broken, type Exhibit, payment } from './broken.ts'

const needed = ['p-2', 'p-5', 'p-9']

export default broken('trio', async ({ message, tx }) => {
  await tx.query('insert into booking values ($1, $2, $3)', [message.id, message.account, message.amount])
  if (message.id !== needed.at(-1)) return
  await tx.query(
    `insert into balance select 'trio', 3 where (select count(*) from booking where id = any($1)) = 3`,
    [needed],
  )
})

export const exhibit: Exhibit = {
  mistake: 'what is written depends on which messages arrived before',
  tables: `
    create table balance (account text primary key, total bigint not null);
    create table booking (id text primary key, account text not null, amount bigint not null)`,
  samples: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map(number => payment(number)),
  only: ['order'],
  says: /The result depends on the order of arrival/,
}

import { randomUUID } from 'node:crypto'
import { broken, type Exhibit, payments } from './broken.ts'

export default broken('random_row', async ({ message, tx }) => {
  await tx.query('insert into receipt values ($1, $2)', [randomUUID(), message.amount])
})

export const exhibit: Exhibit = {
  mistake: 'the primary key of a row is random',
  tables: 'create table receipt (id uuid primary key, amount bigint not null)',
  samples: payments,
  only: [],
  warns: /The row key receipt\.id comes from the clock or from random numbers of the handler/,
}

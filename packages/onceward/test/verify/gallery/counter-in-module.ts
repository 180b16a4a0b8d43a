import { broken, type Exhibit, payments } from './broken.ts'

let number = 0

export default broken(
  'module_counter',
  async ({ message, tx }) => {
    number++
    await tx.query('insert into receipt values ($1, $2)', [message.id, number])
  },
  { batch: { sizeMax: 1, inFlightMax: 1 } },
)

export const exhibit: Exhibit = {
  mistake: 'a counter in the module numbers the rows',
  tables: 'create table receipt (id text primary key, number integer not null)',
  samples: payments,
  only: ['point'],
  more: { fault: 'point:batch.committed:1' },
  says: /keeps something in memory between messages/,
}

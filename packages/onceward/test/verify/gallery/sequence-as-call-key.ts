import { broken, type Exhibit, payments } from './broken.ts'

export default broken(
  'sequence_key',
  async ({ message, tx, effects }) => {
    const { rows } = await tx.query<{ id: string }>(
      'insert into receipt (amount) values ($1) returning id::text',
      [message.amount],
    )
    effects.external('gateway', { key: `receipt-${rows[0]!.id}`, body: { amount: message.amount } })
  },
  { effect: { external: { gateway: { url: 'https://gateway.example/captures' } } } },
)

export const exhibit: Exhibit = {
  mistake: 'the idempotency key of a call comes from a sequence',
  tables: 'create table receipt (id bigint generated always as identity primary key, amount bigint not null)',
  samples: payments,
  only: [],
  says: /The key calls\.key gets its value from a sequence or the time of the database/,
}

import { broken, type Payment, payments } from './gallery/broken.ts'

export const tables = 'create table booking (id text primary key)'
export const samples: readonly Payment[] = payments

/** Hangs when a message arrives after a later one. */
export default broken(
  'sleeper',
  async ({ message, tx }) => {
    await tx.query('insert into booking values ($1)', [message.id])
    const { rows } = await tx.query('select from booking where id > $1', [message.id])
    if (rows.length > 0) await new Promise(() => {})
  },
  { batch: { handlerTimeoutMs: 300_000 } },
)

import { defineConsumer, park, type SqlTransaction } from 'onceward'
import { postgresQueue } from 'onceward/postgres'
import { InvoiceReceived } from './messages.ts'

export const queue = process.env.INVOICE_QUEUE ?? 'invoice.received'

export default defineConsumer<InvoiceReceived, SqlTransaction>({
  name: 'invoice_booking',
  owner: 'billing',
  risk: 'money',
  source: postgresQueue(queue, { keyOrder: true }),
  message: InvoiceReceived,
  identity: { id: m => m.messageId, orderKey: m => m.accountId },
  order: 'key',
  // What fails is for people at once; later invoices of its account wait behind it, up to a thousand.
  failure: { attemptsMax: 1, parking: { perKeyMax: 1_000 } },
  // By its risk. The queue is in the same database: its messages keep their markers.
  retention: {},
  async handle({ message, tx }) {
    const { messageId, accountId, currency, amount } = message
    if (currency !== 'EUR') return park(`books are in EUR, not ${currency}`, 'wrong_currency')
    const { rowCount } = await tx.query('select from account where id = $1', [accountId])
    if (rowCount === 0) return park(`account ${accountId} is not known`, 'no_account')
    await tx.query(
      `insert into booking (account_id, number, invoice_id, amount)
       select $1, 1 + count(*), $2, $3 from booking where account_id = $1`,
      [accountId, messageId, amount],
    )
    return undefined
  },
})

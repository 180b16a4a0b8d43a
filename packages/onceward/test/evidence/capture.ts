import { type ConsumerContract, cause, type SqlTransaction } from 'onceward'
import { postgresQueue } from 'onceward/postgres'

export interface Payment {
  readonly id: string
  readonly order: string
  readonly amount: number | string
}

export const tables = `
  create table payment (id text primary key, amount numeric not null, caused_by text, caused_by_run integer);
  create table payment_line (payment_id text, line integer, caused_by text, primary key (payment_id, line));
  create table plain (id integer primary key)`

/**
 * Captures payments: a row that carries its cause, a call to a gateway, a receipt. Fails on amounts that are
 * none.
 */
export function captureContract(gateway: string): ConsumerContract<Payment, SqlTransaction> {
  return {
    name: 'payment_capture',
    owner: 'payments',
    risk: 'money',
    handlerVersion: '1.4.0',
    source: postgresQueue('payment_capture'),
    identity: {
      id: m => m.id,
      businessKey: m => m.order,
      type: () => 'PaymentRequested',
      schemaVersion: () => 3,
    },
    failure: { attemptsMax: 2, delayMs: 1, delayMaxMs: 2 },
    effect: {
      external: { gateway: { kind: 'http', url: gateway, policy: 'keyed', allowPrivate: true } },
      publish: { receipts: { broker: 'postgres', queue: 'receipts', evidence: true } },
    },
    reconcile: { effects: 'select caused_by as message_id from payment', perMessage: 'one' },
    async handle({ message, envelope, run, tx, effects }) {
      const { id, amount } = message
      if (typeof amount !== 'number')
        throw Object.assign(new Error(`no amount: \u001b[2J${amount}`), { code: 'E_AMOUNT' })
      const { caused_by, caused_by_run } = cause({ envelope, run })
      await tx.query('insert into payment values ($1, $2, $3, $4)', [id, amount, caused_by, caused_by_run])
      effects.external('gateway', { key: `capture:${id}`, body: { amount } })
      effects.publish('receipts', { body: { id, amount } })
    },
  }
}

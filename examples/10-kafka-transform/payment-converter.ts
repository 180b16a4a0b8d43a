import { defineTransform, reject } from 'onceward'
import { topic } from 'onceward/kafka'
import { Payment } from './messages.ts'
import { readSettings, type Settings } from './settings.ts'

const largeCents = 100_000

/** Converts payments to euros and flags large ones. One payment becomes one or two records, or a dead letter. */
export function paymentConverter({ raw, converted, large, dead, group, instance }: Settings) {
  return defineTransform<Payment>({
    name: 'payment_converter',
    owner: 'payments',
    producer: 'terminals',
    description: 'Payments in euros, and the large ones among them.',
    risk: 'projection',
    source: topic(raw, { group, start: 'earliest', ...(instance !== undefined && { instance }) }),
    message: Payment,
    identity: { id: m => m.paymentId },
    failure: { deadLetter: { to: dead, owner: 'payments-support' } },
    to: [converted, large],
    map({ message: { paymentId, card, amount, currency, rate } }) {
      if (currency === 'EUR' && rate !== 1) return reject('a rate for euros', 'rate_of_euro')
      const cents = Math.round(amount / rate)
      const value = JSON.stringify({ paymentId, card, cents })
      const payment = { key: card, value, headers: { 'message-id': paymentId } }
      return [{ topic: converted, ...payment }, ...(cents > largeCents ? [{ topic: large, ...payment }] : [])]
    },
  })
}

export default paymentConverter(readSettings())

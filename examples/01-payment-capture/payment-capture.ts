import { defineConsumer, reject, retryAfter } from 'onceward'
import { postgresQueue } from 'onceward/postgres'
import { queue } from 'onceward/rabbitmq'
import { PaymentCaptureRequested } from './messages.ts'
import { readSettings, type Settings } from './settings.ts'

/** One contract for both brokers: only the source differs. */
export function paymentCapture(settings: Settings) {
  return defineConsumer({
    name: 'payment_capture',
    generation: settings.generation,
    owner: 'payments',
    risk: 'money',
    source:
      settings.broker === 'rabbitmq'
        ? queue(settings.queue)
        : { ...postgresQueue(settings.queue, { leaseMs: settings.leaseMs }) },
    message: PaymentCaptureRequested,
    identity: {
      id: m => m.messageId,
      businessKey: m => m.captureRequestId,
      // A new message id with the same capture request and other content is a conflict, not a duplicate.
      businessDigest: m => [m.merchantId, m.amount, m.currency],
      correlationId: m => m.correlationId,
      schemaVersion: m => m.schemaVersion,
    },
    // Seven years, by its risk. The queue cannot report how long it may redeliver a message.
    retention: { sourceKeeps: '14d' },
    effect: {
      external: {
        gateway: {
          url: settings.gatewayUrl,
          allowPrivate: true,
          timeoutMs: 2_000,
          retryDelayMs: 100,
          retryDelayMaxMs: 5_000,
        },
      },
    },
    failure: {
      attemptsMax: 3,
      delayMs: 200,
      deadLetter: `${settings.queue}.dead`,
    },

    async handle({ message, tx, effects, mode }) {
      const { captureRequestId, merchantId, amount, currency, correlationId } = message
      const merchant = await tx.query<{ status: string }>('select status from merchant where id = $1', [
        merchantId,
      ])
      // Retryable: the merchant may be registered soon. Permanent: a blocked merchant is not charged.
      if (merchant.rows.length === 0) throw retryAfter(200, `merchant ${merchantId} is not known yet`)
      if (merchant.rows[0]!.status === 'blocked') throw reject(`merchant ${merchantId} is blocked`)

      const table = mode === 'rebuild' ? 'capture_rebuilt' : 'capture'
      await tx.query(`insert into ${table} values ($1, $2, $3, $4, $5)`, [
        captureRequestId,
        merchantId,
        amount,
        currency,
        correlationId,
      ])
      // Recorded in this transaction, called later by the dispatcher; suppressed in replay and rebuild.
      effects.external('gateway', {
        key: captureRequestId,
        body: { captureRequestId, merchantId, amount, currency },
      })
    },
  })
}

export default paymentCapture(readSettings())

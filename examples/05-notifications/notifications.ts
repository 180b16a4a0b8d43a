import { defineConsumer, type Mail, notification } from 'onceward'
import { postgresQueue } from 'onceward/postgres'
import { OrderShipped } from './messages.ts'
import { readSettings, type Settings } from './settings.ts'

const templateVersion = 1

/**
 * Sends one mail to the customer and one signed call to the warehouse for each shipment, however many
 * messages report it and however often they arrive.
 */
export function notifications(settings: Settings) {
  return defineConsumer({
    name: 'shipment_notifications',
    owner: 'customer-service',
    risk: 'notification',
    source: postgresQueue(settings.queue),
    message: OrderShipped,
    identity: { id: m => m.messageId },
    // By its risk. The queue is in the same database: its messages keep their markers.
    retention: {},
    effect: {
      external: {
        mail: {
          kind: 'email',
          host: settings.mailHost,
          port: settings.mailPort,
          // A server on this machine; a real one gets tls: 'starttls' and credentials from the environment.
          tls: 'none',
          allowPrivate: true,
          from: 'parcels@shop.example',
          // SMTP has no idempotency keys: a mail that may have been sent is not sent again, and is listed as
          // unknown.
          policy: 'at most once',
          timeoutMs: 5_000,
          retryDelayMs: 200,
        },
        warehouse: {
          kind: 'webhook',
          url: settings.webhookUrl,
          allowPrivate: true,
          secrets: { '2026-07': { env: 'WEBHOOK_SECRET' }, '2026-01': { env: 'WEBHOOK_SECRET_BEFORE' } },
          timeoutMs: 5_000,
          retryDelayMs: 200,
        },
      },
    },
    handle({ message, effects }) {
      const { orderId, parcel, customer } = message
      const mail: Mail = {
        to: customer.email,
        subject: `Your order ${orderId} is on its way`,
        text: `Dear ${customer.name},\n\nparcel ${parcel} left our house today.\n`,
      }
      const occasion = { notificationId: `shipped-${orderId}`, templateVersion }
      effects.external('mail', { ...notification({ ...occasion, recipient: customer.email }), body: mail })
      effects.external('warehouse', {
        ...notification({ ...occasion, recipient: 'warehouse' }),
        body: { orderId, parcel },
      })
    },
  })
}

export default notifications(readSettings())

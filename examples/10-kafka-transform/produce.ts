import { parseArgs } from 'node:util'
import { createKafkaPublisher, ensureTopic } from 'onceward/kafka'
import { readSettings } from './settings.ts'

const { values } = parseArgs({ options: { payments: { type: 'string', default: '100' } } })
const bootstrap = process.env.ONCEWARD_KAFKA_BOOTSTRAP!
const { raw, converted, large, dead } = readSettings()
for (const name of [raw, converted, large]) await ensureTopic({ bootstrap }, name, { partitions: 3 })
await ensureTopic({ bootstrap }, dead, { partitions: 1 })

const publisher = createKafkaPublisher({ bootstrap })
const payments = Array.from({ length: Number(values.payments) }, (_, n) => ({
  paymentId: `payment-${n}`,
  card: `card-${n % 7}`,
  amount: (n + 1) * 1_000,
  currency: n % 2 === 0 ? 'EUR' : 'SEK',
  // Every tenth terminal is configured wrongly.
  rate: n % 2 === 0 ? (n % 10 === 0 ? 2 : 1) : 11.2,
}))
await publisher.publish(
  payments.map(payment => ({
    queue: raw,
    messageId: payment.paymentId,
    key: payment.card,
    body: Buffer.from(JSON.stringify(payment)),
  })),
)
await publisher.close()
console.log(`${values.payments} payments in ${raw}`)

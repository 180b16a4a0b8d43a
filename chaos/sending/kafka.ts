import { randomBytes } from 'node:crypto'
import { Producer } from '@platformatic/kafka'
import type { PlannedMessage } from '../plan/messages.ts'
import type { Sender } from './sender.ts'

/** Plain sends, and transactions that are aborted, with the broker's own client. */
export async function kafkaSender(
  bootstrap: string,
  topic: string,
  partitionOf: (message: PlannedMessage) => number,
): Promise<Sender> {
  const client = { clientId: 'chaos-producer', bootstrapBrokers: [bootstrap] }
  let plain = new Producer(client)
  const recordOf = (message: PlannedMessage) => ({
    topic,
    partition: partitionOf(message),
    ...(message.key !== null && { key: Buffer.from(message.key) }),
    value: Buffer.from(message.body, 'base64'),
  })
  return {
    async send(messages) {
      try {
        await plain.send({ messages: messages.map(recordOf), acks: -1 })
      } catch (error) {
        await plain.close(true).catch(() => {})
        plain = new Producer(client)
        throw error
      }
    },
    async abort(messages) {
      const transactional = new Producer({
        ...client,
        transactionalId: `aborted-${randomBytes(6).toString('hex')}`,
        idempotent: true,
      })
      try {
        const transaction = await transactional.beginTransaction()
        await transaction.send({ messages: messages.map(recordOf) })
        await transaction.abort()
      } finally {
        await transactional.close(true).catch(() => {})
      }
    },
    close: () => plain.close(true),
  }
}

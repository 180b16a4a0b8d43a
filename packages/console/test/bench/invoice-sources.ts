import { randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import { connect } from 'amqplib'
import type { RunOptions, SourceDeclaration } from 'onceward'
import { topic } from 'onceward/kafka'
import { queue } from 'onceward/rabbitmq'
import type { InvoiceReceived } from '../../../../examples/09-parking-drill/messages.ts'
import { openKafka } from '../../../onceward/test/kafka/fixture.ts'
import { kafkaBootstrap, rabbitmqUrl } from '../../../onceward/test/services/services.ts'

/** Where the invoices come from, if not from a queue of the database. */
export interface InvoiceSource {
  readonly declaration: SourceDeclaration
  /** Addresses of the broker. */
  readonly run: Pick<RunOptions, 'rabbitmqUrl' | 'kafkaBootstrap'>
  /** In this order. */
  send(invoices: readonly InvoiceReceived[]): Promise<void>
  close(): Promise<void>
}

const name = () => `invoice.received.${randomBytes(4).toString('hex')}`

export async function rabbitmqInvoices(): Promise<InvoiceSource> {
  const url = await rabbitmqUrl()
  const place = name()
  const model = await connect(url)
  const channel = await model.createConfirmChannel()
  await channel.assertQueue(place, {
    durable: true,
    arguments: { 'x-queue-type': 'quorum', 'x-single-active-consumer': true },
  })
  return {
    declaration: queue(place, { declare: 'verify', singleActiveConsumer: true }),
    run: { rabbitmqUrl: url },
    send: async invoices => {
      for (const invoice of invoices)
        channel.sendToQueue(place, Buffer.from(JSON.stringify(invoice)), { persistent: true })
      await channel.waitForConfirms()
    },
    close: async () => {
      await channel.deleteQueue(place)
      await model.close()
    },
  }
}

export async function kafkaInvoices(): Promise<InvoiceSource> {
  const closing: (() => Promise<void>)[] = []
  const scope = { after: (close: () => Promise<void>) => closing.push(close) } as unknown as TestContext
  const kafka = await openKafka(scope)
  const place = await kafka.createTopic({ name: name(), partitions: 3 })
  return {
    declaration: topic(place, { start: 'earliest' }),
    run: { kafkaBootstrap: await kafkaBootstrap() },
    send: async invoices => {
      for (const invoice of invoices)
        await kafka.produce(place, [
          {
            key: invoice.accountId,
            value: JSON.stringify(invoice),
            // By account, so that its invoices stay in order.
            partition: invoice.accountId.charCodeAt(0) % 3,
          },
        ])
    },
    close: async () => {
      for (const close of closing) await close()
    },
  }
}

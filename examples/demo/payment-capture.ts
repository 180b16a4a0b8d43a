import { setTimeout as wait } from 'node:timers/promises'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { defineConsumer, type SourceDeclaration } from 'onceward'
import { postgresQueue } from 'onceward/postgres'
import { stream } from 'onceward/rabbitmq-stream'
import type { DemoSettings } from './settings.ts'

export const consumerName = 'payment_capture'

export interface PaymentCaptureRequested {
  readonly messageId: string
  readonly correlationId: string
  readonly schemaVersion: 1
  readonly captureRequestId: string
  readonly merchantId: string
  /** In minor units. */
  readonly amount: number
  readonly currency: string
}

/**
 * Deliberately without a unique key: a message applied twice would leave a second row. Only Onceward's
 * markers prevent it.
 */
export const businessTables = `
  create table capture (
    capture_request_id text not null,
    merchant_id        text not null,
    amount             bigint not null,
    message_id         text not null
  )`

/** Any Standard Schema library does this better; written by hand it needs no dependency. */
const schema: StandardSchemaV1<unknown, PaymentCaptureRequested> = {
  '~standard': {
    version: 1,
    vendor: 'onceward-demo',
    validate(value) {
      const issues = issuesOf((value ?? {}) as Record<string, unknown>)
      return issues.length > 0 ? { issues } : { value: value as PaymentCaptureRequested }
    },
  },
}

function issuesOf(value: Record<string, unknown>): StandardSchemaV1.Issue[] {
  const texts = ['messageId', 'correlationId', 'captureRequestId', 'merchantId', 'currency']
  const wrong = texts.filter(name => typeof value[name] !== 'string' || value[name] === '')
  if (value.schemaVersion !== 1) wrong.push('schemaVersion')
  if (!Number.isSafeInteger(value.amount) || (value.amount as number) <= 0) wrong.push('amount')
  return wrong.map(name => ({ message: 'is missing or wrong', path: [name] }))
}

/**
 * The whole consumer of the demo: validate, record the capture, request the charge. It contains no code for
 * duplicates.
 */
export async function paymentCapture(settings: DemoSettings, instance: string) {
  return defineConsumer({
    name: consumerName,
    owner: 'payments',
    risk: 'money',
    source: await sourceOf(settings, instance),
    message: schema,
    identity: {
      id: m => m.messageId,
      businessKey: m => m.captureRequestId,
      businessDigest: m => [m.merchantId, m.amount, m.currency],
      correlationId: m => m.correlationId,
      schemaVersion: m => m.schemaVersion,
    },
    // Seven years, by its risk. Not every broker reports how long it may redeliver a message.
    retention: { sourceKeeps: '14d' },
    effect: {
      external: {
        gateway: {
          url: `${settings.gatewayUrl}/captures`,
          allowPrivate: true,
          timeoutMs: 500,
          retryDelayMs: 100,
          retryDelayMaxMs: 2_000,
          attemptsMax: 12,
          concurrencyMax: 32,
        },
      },
    },
    failure: { deadLetter: settings.deadLetters },
    // Small batches lose little work to a kill, and the lease of a killed process holds few messages.
    batch: { sizeMax: 100, deliveriesMax: 400 },
    async handle({ message, tx, effects }) {
      await workOfItsOwn()
      await tx.query('insert into capture values ($1, $2, $3, $4)', [
        message.captureRequestId,
        message.merchantId,
        message.amount,
        message.messageId,
      ])
      const { captureRequestId, merchantId, amount, currency } = message
      effects.external('gateway', {
        key: captureRequestId,
        body: { captureRequestId, merchantId, amount, currency },
      })
    },
  })
}

async function sourceOf({ broker, queue: name }: DemoSettings, instance: string): Promise<SourceDeclaration> {
  switch (broker) {
    case 'postgres':
      return { ...postgresQueue(name, { leaseMs: 2_000 }) }
    case 'rabbitmq':
      return (await import('onceward/rabbitmq')).queue(name)
    case 'stream':
      return stream(name, { superStream: true, start: 'first' })
    case 'kafka': {
      const { topic } = await import('onceward/kafka')
      // A static member name returns the partitions to a killed process as soon as it restarts.
      return topic(name, { group: name, instance: instance.replace(' ', '-'), start: 'earliest' })
    }
  }
}

/** Waits a few milliseconds inside the open transaction, so a kill rarely finds the process idle. */
function workOfItsOwn(): Promise<void> {
  return wait(2 + Math.random() * 10)
}

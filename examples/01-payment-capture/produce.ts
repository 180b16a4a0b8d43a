import { appendFileSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { createPool, createQueue, hint, publish } from 'onceward/postgres'
import { createRabbitPublisher } from 'onceward/rabbitmq'
import type { PaymentCaptureRequested } from './messages.ts'
import { readSettings } from './settings.ts'

/** Resolves when the broker has confirmed every body. */
export type Send = (bodies: readonly string[]) => Promise<void>

export function rabbitSender(url: string, queue: string): { send: Send; close(): Promise<void> } {
  const publisher = createRabbitPublisher({ url })
  return {
    async send(bodies) {
      const messages = bodies.map((body, n) => ({
        queue,
        messageId: `delivery-${n}`,
        body: Buffer.from(body),
      }))
      const results = await publisher.publish(messages)
      for (const result of results) if (result !== 'confirmed') throw result
    },
    close: () => publisher.close(),
  }
}

export function postgresSender(url: string, queue: string): { send: Send; close(): Promise<void> } {
  const pool = createPool(url, { max: 1 })
  return {
    async send(bodies) {
      await createQueue(pool, queue)
      await publish(
        pool,
        queue,
        bodies.map(body => ({ body })),
      )
      await hint(pool, queue)
    },
    close: () => pool.end(),
  }
}

export function request(n: number | string, changes: Partial<PaymentCaptureRequested> = {}): string {
  return JSON.stringify({
    messageId: `evt-${n}`,
    correlationId: `order-${n}`,
    schemaVersion: 1,
    captureRequestId: `cap-${n}`,
    merchantId: 'merchant-1',
    amount: 4_200,
    currency: 'EUR',
    ...changes,
  })
}

/** Sends many requests: every third twice, one with another amount, one without its correlation id. */
function sample(count: number): string[] {
  const bodies = Array.from({ length: count }, (_, n) => request(n))
  const again = bodies.filter((_, n) => n % 3 === 0)
  return [...bodies, ...again, request(0, { amount: 9_999 }), request('bad', { correlationId: '' })]
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { count: { type: 'string', default: '10' }, resend: { type: 'string' } },
  })
  const { broker, queue } = readSettings()
  const bodies = values.resend
    ? readFileSync(values.resend, 'utf8').trim().split('\n')
    : sample(Number(values.count))
  const { send, close } =
    broker === 'rabbitmq'
      ? rabbitSender(process.env.ONCEWARD_RABBITMQ_URL!, queue)
      : postgresSender(process.env.ONCEWARD_DATABASE_URL!, queue)
  await send(bodies)
  await close()
  if (!values.resend) appendFileSync('sent.jsonl', `${bodies.join('\n')}\n`)
  console.log(`${bodies.length} messages confirmed by ${queue}`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()

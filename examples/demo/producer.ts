import { appendFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import type { OncewardError } from 'onceward'
import { createPool } from 'onceward/postgres'
import { type PlannedMessage, planMessages } from './plan.ts'
import { seededRandom } from './seeded-random.ts'
import { type DemoSettings, endWithParent, readSettings, report } from './settings.ts'
import { partitionsOf } from './stream-of-run.ts'

/** Resolves when the broker has confirmed every message of the call. */
type Send = (messages: readonly PlannedMessage[]) => Promise<void>

/**
 * A separate process that sends the plan in bursts and logs each message once the broker has confirmed it.
 */
async function produce(settings: DemoSettings): Promise<void> {
  const plan = planMessages(settings.messages, settings.seed)
  const random = seededRandom(settings.seed + 1)
  const { send, close } = await openSender(settings)
  const began = performance.now()
  for (let sent = 0; sent < plan.length; ) {
    const clock = (performance.now() - began) / settings.produceMs
    let until = sent
    while (until < plan.length && plan[until]!.at <= clock && until - sent < 500) until++
    if (until > sent) {
      const burst = plan.slice(sent, until)
      await send(burst)
      appendFileSync(settings.producerLog, burst.map(logLine).join(''))
      sent = until
      report({ kind: 'produced', count: sent })
    }
    await wait(10 + random() * 60)
  }
  await close()
}

function logLine({ body: _, at: __, ...facts }: PlannedMessage): string {
  return `${JSON.stringify(facts)}\n`
}

function openSender(settings: DemoSettings): Promise<{ send: Send; close(): Promise<void> }> {
  switch (settings.broker) {
    case 'postgres':
      return postgresSender(settings)
    case 'rabbitmq':
      return rabbitSender(settings, () => settings.queue)
    case 'stream': {
      const streams = partitionsOf(settings.queue)
      return rabbitSender(settings, ({ capture }) => streams[partitionOf(capture, streams.length)]!)
    }
    case 'kafka':
      return kafkaSender(settings)
  }
}

async function postgresSender({ databaseUrl, queue }: DemoSettings) {
  const { hint, publish } = await import('onceward/postgres')
  const pool = createPool(databaseUrl, { max: 1 })
  const send: Send = async messages => {
    const client = await pool.connect()
    try {
      await client.query('begin')
      await publish(
        client,
        queue,
        messages.map(message => ({ body: message.body })),
      )
      await client.query('commit')
    } finally {
      client.release()
    }
    await hint(pool, queue)
  }
  return { send, close: () => pool.end() }
}

async function rabbitSender({ rabbitmqUrl }: DemoSettings, queueOf: (message: PlannedMessage) => string) {
  const { createRabbitPublisher } = await import('onceward/rabbitmq')
  const publisher = createRabbitPublisher({ url: rabbitmqUrl! })
  const send: Send = messages =>
    confirmAll(
      publisher,
      messages.map(message => ({ ...outgoing(message), queue: queueOf(message) })),
    )
  return { send, close: () => publisher.close() }
}

async function kafkaSender({ kafkaBootstrap, queue }: DemoSettings) {
  const { createKafkaPublisher } = await import('onceward/kafka')
  const publisher = createKafkaPublisher({ bootstrap: kafkaBootstrap! })
  const send: Send = messages =>
    confirmAll(
      publisher,
      messages.map(message => ({ ...outgoing(message), queue, key: message.capture })),
    )
  return { send, close: () => publisher.close() }
}

let unnamed = 0

function outgoing({ id, body }: PlannedMessage) {
  return { messageId: id ?? `malformed-${unnamed++}`, body: Buffer.from(body) }
}

/** The broker may have an unconfirmed message, so the same bytes are sent again. */
async function confirmAll<M>(
  publisher: { publish(messages: readonly M[]): Promise<readonly ('confirmed' | OncewardError)[]> },
  messages: readonly M[],
): Promise<void> {
  for (let open = messages; open.length > 0; ) {
    const results = await publisher.publish(open)
    const failed = results.filter(result => result !== 'confirmed')
    open = open.filter((_, index) => results[index] !== 'confirmed')
    if (failed.some(error => error.code === 'configuration' || error.code === 'publish_unroutable'))
      throw failed[0]
  }
}

/** All messages of one capture are in one stream. */
function partitionOf(capture: string | null, count: number): number {
  return capture === null ? 0 : Number(capture.slice(-1)) % count
}

endWithParent()
await produce(readSettings())
process.disconnect()

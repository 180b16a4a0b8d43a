import type { TestContext } from 'node:test'
import type { RunOptions, SourceDeclaration } from 'onceward'
import { topic } from 'onceward/kafka'
import { createPool, migrate } from 'onceward/postgres'
import { queue } from 'onceward/rabbitmq'
import { openKafka, randomName } from '../kafka/fixture.ts'
import { createTestQueue } from '../rabbitmq/broker.ts'
import { createDatabase } from '../services/services.ts'

export type BrokerName = 'rabbitmq' | 'kafka'

/** A message as tests send it and read it back, in one form for both brokers. */
export interface Carried {
  readonly body: string
  readonly key: string
  readonly headers: Readonly<Record<string, string>>
}

/** A source with a dead-letter destination on a real broker. */
export interface BrokerScene {
  readonly source: SourceDeclaration
  readonly servers: Pick<RunOptions, 'rabbitmqUrl' | 'kafkaBootstrap'>
  /** The name of the queue or topic, and of its dead-letter destination. */
  readonly origin: string
  readonly letters: string
  send(messages: readonly Carried[]): Promise<void>
  /** Messages that wait in the queue, unacknowledged ones not included; null on a log. */
  ready(): Promise<number | null>
  /** All messages of the dead-letter destination so far. */
  copies(): Promise<readonly { readonly body: string; readonly headers: Readonly<Record<string, string>> }[]>
}

export function openBroker(t: TestContext, broker: BrokerName): Promise<BrokerScene> {
  return broker === 'kafka' ? onKafka(t) : onRabbit(t)
}

export async function openStore(t: TestContext) {
  const database = await createDatabase()
  const pool = createPool(database.url, { max: 3 })
  await migrate(pool)
  await pool.query('create table effect (id text not null)')
  const ends: (() => Promise<unknown>)[] = []
  t.after(async () => {
    for (const end of ends) await end().catch(() => {})
    await pool.end()
    await database.drop()
  })
  const count = async (sql: string): Promise<number> =>
    (await pool.query(`select count(*)::int as n from ${sql}`)).rows[0].n
  return { pool, url: database.url, count, ends }
}

async function onRabbit(t: TestContext): Promise<BrokerScene> {
  const { name, url, channel, ready } = await createTestQueue(t)
  const letters = `${name}.letters`
  await channel.assertQueue(name, {
    durable: true,
    arguments: { 'x-queue-type': 'quorum', 'x-delivery-limit': -1 },
  })
  await channel.assertQueue(letters, { durable: true })
  t.after(() => channel.deleteQueue(letters).catch(() => {}))
  const found: { body: string; headers: Record<string, string> }[] = []
  return {
    source: queue(name),
    servers: { rabbitmqUrl: url },
    origin: name,
    letters,
    async send(messages) {
      for (const { body, headers } of messages)
        channel.sendToQueue(name, Buffer.from(body), { persistent: true, headers })
      await (channel as unknown as { waitForConfirms(): Promise<void> }).waitForConfirms()
    },
    ready,
    async copies() {
      for (;;) {
        const got = await channel.get(letters, { noAck: true })
        if (got === false) return found
        found.push({ body: got.content.toString(), headers: got.properties.headers as never })
      }
    },
  }
}

async function onKafka(t: TestContext): Promise<BrokerScene> {
  const kafka = await openKafka(t)
  const name = await kafka.createTopic({ name: randomName('refused'), partitions: 2 })
  const letters = await kafka.createTopic({ name: `${name}.letters` })
  return {
    source: topic(name, { group: name, start: 'earliest' }),
    servers: { kafkaBootstrap: kafka.bootstrap },
    origin: name,
    letters,
    async send(messages) {
      await kafka.produce(
        name,
        messages.map(({ body, key, headers }, n) => ({ value: body, key, headers, partition: n % 2 })),
      )
    },
    ready: async () => null,
    copies: async () =>
      (await kafka.read(letters)).map(({ value, headers }) => ({
        body: String(value ?? ''),
        headers: textOf(headers as never),
      })),
  }
}

function textOf(headers: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
}

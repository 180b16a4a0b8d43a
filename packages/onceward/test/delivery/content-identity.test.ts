import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { defineConsumer, runConsumer } from 'onceward'
import { createPool, createQueue, migrate, postgresQueue, publish } from 'onceward/postgres'
import { queue } from 'onceward/rabbitmq'
import { until } from 'onceward/testing'
import { createTestQueue } from '../rabbitmq/broker.ts'
import { createDatabase, skipWithout } from '../services/services.ts'

interface Entry {
  readonly account: string
  readonly amount: number
}

/** How messages without an id reach a queue. */
interface Sender {
  readonly source: ReturnType<typeof queue> | ReturnType<typeof postgresQueue>
  readonly rabbitmqUrl?: string
  send(...bodies: string[]): Promise<unknown>
}

const senders = {
  async rabbitmq(t: TestContext): Promise<Sender> {
    const { name, url, channel, send } = await createTestQueue(t)
    await channel.assertQueue(name, {
      durable: true,
      arguments: { 'x-queue-type': 'quorum', 'x-delivery-limit': -1 },
    })
    return { source: queue(name), rabbitmqUrl: url, send }
  },
  async postgres(_t: TestContext, pool: ReturnType<typeof createPool>): Promise<Sender> {
    await createQueue(pool, 'entries')
    const send = (...bodies: string[]) =>
      publish(
        pool,
        'entries',
        bodies.map(body => ({ body })),
      )
    return { source: postgresQueue('entries'), send }
  },
}

describe("identity.id 'content'", await skipWithout('postgres', 'rabbitmq'), () => {
  for (const [broker, openSender] of Object.entries(senders))
    test(`applies each content once on ${broker}, also after a restart`, { timeout: 120_000 }, async t => {
      const { pool, url } = await openDatabase(t)
      const { source, rabbitmqUrl, send } = await openSender(t, pool)
      const consumer = defineConsumer<Entry>({
        name: 'entries',
        owner: 'tests',
        risk: 'projection',
        source,
        identity: { id: 'content' },
        async handle({ message, tx }) {
          await tx.query('insert into entry values ($1, $2)', [message.account, message.amount])
        },
      })
      const start = () => runConsumer(consumer, { databaseUrl: url, ...(rabbitmqUrl && { rabbitmqUrl }) })
      const [one, spaced, two] = [
        '{"account":"a","amount":1}',
        '{"account":"a", "amount":1}',
        '{"account":"a","amount":2}',
      ]
      const first = await start()
      t.after(() => first.drain(5_000))
      await send(one, one, two, spaced)
      await until('all are decided', () => decided(first) === 4)
      await first.drain(5_000)
      const second = await start()
      t.after(() => second.drain(5_000))
      await send(two, one)
      await until('the repeats are decided', () => decided(second) === 2)
      assert.deepEqual(second.consumer!.tally.outcomes, { duplicate: 2 })
      const { rows } = await pool.query('select account, amount from entry order by amount')
      // Other bytes are another content: the digest covers them as they came.
      assert.deepEqual(
        rows.map(({ amount }) => amount),
        [1, 1, 2],
      )
    })
})

function decided({ consumer }: Awaited<ReturnType<typeof runConsumer>>): number {
  return Object.values(consumer!.tally.outcomes).reduce((sum, count) => sum + count, 0)
}

async function openDatabase(t: TestContext) {
  const database = await createDatabase()
  const pool = createPool(database.url, { max: 3 })
  t.after(async () => {
    await pool.end()
    await database.drop()
  })
  await migrate(pool)
  await pool.query('create table entry (account text not null, amount integer not null)')
  return { pool, url: database.url }
}

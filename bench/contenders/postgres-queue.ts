import pg from 'pg'
import type { Load } from '../workload.ts'
import { parse, writeBatch } from './apply-batch.ts'
import { writeEach } from './apply-each.ts'
import { type Consume, type OpenContender, startClock } from './contender.ts'
import { writeOne } from './textbook.ts'

const take = `
  delete from onceward.queue_message where ctid = any (array(
    select ctid from onceward.queue_message order by queue_id, id limit $1 for update skip locked))
  returning body`

/** One claim after the other on every connection until all is taken; answers how many it took. */
type Step = (client: pg.Client) => Promise<number>

function open(connections: number, step: Step, config: pg.ClientConfig = {}): OpenContender {
  return async place => {
    const clients = Array.from(
      { length: connections },
      () => new pg.Client({ connectionString: place.databaseUrl, ...config }),
    )
    for (const client of clients) await client.connect()
    const consume: Consume = ({ load }) => consumeAll(clients, step, load)
    return consume
  }
}

async function consumeAll(clients: readonly pg.Client[], step: Step, { count }: Load): Promise<number> {
  let left = count
  const seconds = startClock()
  await Promise.all(
    clients.map(async client => {
      while (left > 0) {
        const taken = await step(client)
        left -= taken
      }
    }),
  )
  return seconds()
}

async function inTransaction(client: pg.Client, work: () => Promise<number>): Promise<number> {
  await client.query('begin')
  try {
    const count = await work()
    await client.query('commit')
    return count
  } catch (error) {
    await client.query('rollback')
    throw error
  }
}

/** Messages are taken 500 at a time and forgotten. */
export const openRawQueue = open(2, async client => (await client.query(take, [500])).rows.length)

/** Queue, inbox and counters share a database, so one transaction does it all: no lease, no ack. */
export const openHandBatchQueue = open(2, client => takeBatch(client, writeBatch))
/** The same with a statement for each message. */
export const openHandPreparedQueue = open(2, client => takeBatch(client, writeEach), {
  pipeline: true,
} as pg.ClientConfig)

function takeBatch(client: pg.Client, write: typeof writeBatch): Promise<number> {
  return inTransaction(client, async () => {
    const { rows } = await client.query(take, [500])
    const batch = rows.map(row => parse(row.body)).sort((a, b) => (a.message.id < b.message.id ? -1 : 1))
    if (batch.length > 0) await write(client, batch)
    return batch.length
  })
}

export const openTextbookQueue = open(10, client =>
  inTransaction(client, async () => {
    const { rows } = await client.query(take, [1])
    if (rows.length === 0) return 0
    const { message, digest } = parse(rows[0].body)
    await writeOne(client, message.id, digest, message.key, message.amount)
    return 1
  }),
)

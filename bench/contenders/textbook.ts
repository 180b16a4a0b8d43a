import { type ConsumeMessage, connect } from 'amqplib'
import pg from 'pg'
import { parse } from './apply-batch.ts'
import { letAcksArrive, type OpenContender, startClock } from './contender.ts'

const connections = 10

/** The inbox as it is usually written: one transaction per message, ten at a time, then the ack. */
export const openTextbook: OpenContender = async place => {
  const connection = await connect(place.rabbitmqUrl!)
  const pool = new pg.Pool({ connectionString: place.databaseUrl, max: connections })
  return async ({ queue, load }) => {
    const channel = await connection.createChannel()
    await channel.prefetch(100)
    const done = Promise.withResolvers<void>()
    let left = load.count
    const handle = async (message: ConsumeMessage) => {
      await applyOne(pool, message.content)
      channel.ack(message)
      if (--left === 0) done.resolve()
    }
    await channel.consume(queue, message => void handle(message!).catch(done.reject))
    const seconds = startClock()
    await done.promise
    const took = seconds()
    await letAcksArrive()
    await channel.close()
    return took
  }
}

/** One transaction: the marker, and the effect when the marker is new. */
export async function applyOne(pool: pg.Pool, body: Buffer): Promise<void> {
  const { message, digest } = parse(body)
  const client = await pool.connect()
  try {
    await client.query('begin')
    await writeOne(client, message.id, digest, message.key, message.amount)
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    throw error
  } finally {
    client.release()
  }
}

export async function writeOne(
  client: pg.ClientBase,
  id: string,
  digest: Buffer,
  key: number,
  amount: number,
): Promise<void> {
  const marker = await client.query(
    'insert into bench_inbox (consumer, id, digest) values (1, $1, $2) on conflict do nothing',
    [id, digest],
  )
  if (marker.rowCount === 0) return
  await client.query('update counter set total = total + $2 where key = $1', [key, amount])
}

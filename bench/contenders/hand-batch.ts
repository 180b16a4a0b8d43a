import { type Channel, type ConsumeMessage, connect } from 'amqplib'
import pg from 'pg'
import type { Place } from '../place.ts'
import { applyBatch } from './apply-batch.ts'
import { applyEach } from './apply-each.ts'
import { type Consume, letAcksArrive, type OpenContender, startClock, type Task } from './contender.ts'

const batchSize = 500

/**
 * The hand-written batched inbox: two batches of 500 in flight on two connections, markers and effects in one
 * transaction, acknowledged after the commit. Batches end in any order, so a multiple ack waits for the ones
 * before. It knows how many messages will come and waits for full batches: nothing written for one purpose
 * gets faster.
 */
export const openHandBatch = handBatchWith(applyBatch)

type Apply = (client: pg.ClientBase, bodies: readonly Buffer[]) => Promise<void>

/** The same loop with a statement for each message. */
export const openHandPrepared = handBatchWith(applyEach, { pipeline: true } as pg.ClientConfig)

/** The same loop around another effect. */
export function handBatchWith(apply: Apply, config: pg.ClientConfig = {}): OpenContender {
  return place => openWith(apply, place, config)
}

/** The same around an effect that has connections of its own. */
export function handBatchMade(make: (place: Place) => Apply): OpenContender {
  return place => openWith(make(place), place, {})
}

async function openWith(apply: Apply, place: Place, config: pg.ClientConfig): Promise<Consume> {
  const connection = await connect(place.rabbitmqUrl!)
  const clients = [1, 2].map(() => new pg.Client({ connectionString: place.databaseUrl, ...config }))
  for (const client of clients) await client.connect()
  const consume: Consume = async task => {
    const channel = await connection.createChannel()
    await channel.prefetch(2_000)
    const took = await consumeAll(channel, clients, apply, task)
    await letAcksArrive()
    await channel.close()
    return took
  }
  return consume
}

async function consumeAll(
  channel: Channel,
  clients: readonly pg.Client[],
  apply: Apply,
  { queue, load }: Task,
): Promise<number> {
  const done = Promise.withResolvers<void>()
  const free = [...clients]
  const open: { last: ConsumeMessage; committed: boolean }[] = []
  let waiting: ConsumeMessage[] = []
  let unseen = load.count

  const ackInOrder = () => {
    while (open[0]?.committed) channel.ack(open.shift()!.last, true)
    if (unseen === 0 && waiting.length === 0 && open.length === 0) done.resolve()
  }
  const run = async (client: pg.Client, batch: ConsumeMessage[]) => {
    const entry = { last: batch.at(-1)!, committed: false }
    open.push(entry)
    const bodies = batch.map(message => message.content)
    await apply(client, bodies)
    entry.committed = true
    free.push(client)
    ackInOrder()
    pump()
  }
  const pump = () => {
    while (free.length > 0 && (waiting.length >= batchSize || (unseen === 0 && waiting.length > 0))) {
      const batch = waiting.slice(0, batchSize)
      waiting = waiting.slice(batchSize)
      run(free.pop()!, batch).catch(done.reject)
    }
  }
  await channel.consume(queue, message => {
    waiting.push(message!)
    unseen--
    pump()
  })
  const seconds = startClock()
  await done.promise
  return seconds()
}

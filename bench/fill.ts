import { setTimeout as sleep } from 'node:timers/promises'
import { type ConfirmChannel, connect } from 'amqplib'
import { createQueue, publish as publishRows } from 'onceward/postgres'
import type pg from 'pg'

/** Fills the queue and returns once the broker has confirmed every message. */
export async function fillRabbitmq(url: string, queue: string, bodies: Iterable<Buffer>): Promise<void> {
  const connection = await connect(url)
  const channel = await connection.createConfirmChannel()
  await declareQueue(channel, queue)
  await channel.purgeQueue(queue)
  for (const body of bodies) {
    if (!publish(channel, queue, body)) await new Promise(resolve => channel.once('drain', resolve))
  }
  await channel.waitForConfirms()
  await connection.close()
}

export async function declareQueue(
  channel: Pick<ConfirmChannel, 'assertQueue'>,
  queue: string,
): Promise<void> {
  const queueArguments = { 'x-queue-type': 'quorum', 'x-delivery-limit': -1 }
  await channel.assertQueue(queue, { durable: true, arguments: queueArguments })
}

export function publish(
  channel: ConfirmChannel,
  queue: string,
  body: Buffer,
  confirmed?: () => void,
): boolean {
  return channel.sendToQueue(queue, body, { persistent: true, contentType: 'application/json' }, confirmed)
}

/** Fills a queue of the PostgreSQL source, a thousand messages per commit. */
export async function fillPostgres(pool: pg.Pool, queue: string, bodies: Iterable<Buffer>): Promise<void> {
  await createQueue(pool as never, queue)
  let batch: { body: Buffer }[] = []
  for (const body of bodies) {
    batch.push({ body })
    if (batch.length < 1_000) continue
    await publishRows(pool, queue, batch)
    batch = []
  }
  await publishRows(pool, queue, batch)
  await pool.query('analyze onceward.queue_message')
}

/**
 * Throws when a message stays that was not acknowledged; the queue applies the last acks a moment after the
 * channel.
 */
export async function assertEmpty(url: string, queue: string): Promise<void> {
  const connection = await connect(url)
  const channel = await connection.createChannel()
  let left = 0
  for (let tries = 0; tries < 50; tries++) {
    left = (await channel.checkQueue(queue)).messageCount
    if (left === 0) break
    await sleep(100)
  }
  await connection.close()
  if (left > 0) throw new Error(`${queue}: ${left} messages were not acknowledged`)
}

import { type ConsumeMessage, connect } from 'amqplib'
import pg from 'pg'
import { parse } from '../contenders/apply-batch.ts'
import type { Place } from '../place.ts'
import type { Sample } from './process.ts'

const sampleMs = 50
const [queue, placeText] = process.argv.slice(2)
const place = JSON.parse(placeText!) as Place
let times: Record<string, [string, string]> = {}
let applied = 0

const marker = {
  name: 'marker',
  text: 'insert into bench_inbox (consumer, id, digest) values (1, $1, $2) on conflict do nothing',
}
const increment = { name: 'increment', text: 'update counter set total = total + $2 where key = $1' }

/**
 * An inbox by hand for one message at a time, in the three round trips that Onceward takes: BEGIN with the
 * marker, the effect, a last statement with COMMIT. Every statement is prepared.
 */
const pool = new pg.Pool({ connectionString: place.databaseUrl, pipeline: true } as pg.PoolConfig)
const channel = await (await connect(place.rabbitmqUrl!)).createChannel()
await channel.prefetch(100)
async function apply(delivery: ConsumeMessage): Promise<void> {
  const arrived = String(process.hrtime.bigint())
  const { message, digest } = parse(delivery.content)
  const client = await pool.connect()
  const [, inserted] = await Promise.all([
    client.query('begin'),
    client.query({ ...marker, values: [message.id, digest] }),
  ])
  if (inserted.rowCount === 1) await client.query({ ...increment, values: [message.key, message.amount] })
  await Promise.all([client.query({ name: 'proof', text: 'select 1' }), client.query('commit')])
  client.release()
  times[message.id] = [arrived, String(process.hrtime.bigint())]
  applied++
  channel.ack(delivery)
}
await channel.consume(queue!, delivery => void apply(delivery!))
setInterval(() => {
  const sample: Sample = { applied, rssBytes: process.memoryUsage.rss(), times }
  times = {}
  if (process.connected) process.send!(sample)
}, sampleMs)
process.on('disconnect', () => process.exit(0))

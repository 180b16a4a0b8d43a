import { type ConsumeMessage, connect } from 'amqplib'
import pg from 'pg'
import type { Place } from '../place.ts'
import type { Increment } from '../workload.ts'
import type { Sample } from './process.ts'

const sampleMs = 50
const [queue, placeText] = process.argv.slice(2)
const place = JSON.parse(placeText!) as Place
let times: Record<string, [string, string]> = {}
let applied = 0

/**
 * The same effect without anything against duplicates: one statement that commits by itself, then the ack.
 */
const pool = new pg.Pool({ connectionString: place.databaseUrl })
const channel = await (await connect(place.rabbitmqUrl!)).createChannel()
await channel.prefetch(100)
async function apply(message: ConsumeMessage): Promise<void> {
  const arrived = String(process.hrtime.bigint())
  const { id, key, amount } = JSON.parse(message.content.toString()) as Increment
  await pool.query('update counter set total = total + $2 where key = $1', [key, amount])
  times[id] = [arrived, String(process.hrtime.bigint())]
  applied++
  channel.ack(message)
}
await channel.consume(queue!, message => void apply(message!))
setInterval(() => {
  const sample: Sample = { applied, rssBytes: process.memoryUsage.rss(), times }
  times = {}
  if (process.connected) process.send!(sample)
}, sampleMs)
process.on('disconnect', () => process.exit(0))

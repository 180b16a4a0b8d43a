import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { connect } from 'amqplib'
import { createRabbitPublisher } from 'onceward/rabbitmq'
import type { ParcelScanned } from './messages.ts'
import { readSettings } from './settings.ts'

const way = [
  ['accepted', 'Leipzig'],
  ['in transit', 'Erfurt'],
  ['out for delivery', 'Jena'],
  ['delivered', 'Jena'],
] as const

/** The nth scan (0 to 3) of a parcel. */
export function scan(parcelId: string, n: number): ParcelScanned {
  const [status, place] = way[n]!
  const at = new Date(Date.UTC(2026, 0, 1, 6 + n)).toISOString()
  return { scanId: `${parcelId}-${n}`, parcelId, status, place, at }
}

/** A stream is declared as a queue of type `stream`. Publishers use it like any queue. */
export async function createStream(url: string, name: string): Promise<void> {
  const connection = await connect(url)
  const channel = await connection.createChannel()
  await channel.assertQueue(name, { durable: true, arguments: { 'x-queue-type': 'stream' } })
  await connection.close()
}

/** Resolves when the broker has confirmed every scan. */
export async function send(url: string, stream: string, scans: readonly ParcelScanned[]): Promise<void> {
  const publisher = createRabbitPublisher({ url })
  try {
    const results = await publisher.publish(
      scans.map(one => ({ queue: stream, messageId: one.scanId, body: Buffer.from(JSON.stringify(one)) })),
    )
    for (const result of results) if (result !== 'confirmed') throw result
  } finally {
    await publisher.close()
  }
}

/** Sends complete journeys; every fourth parcel is still in transit, and every fifth scan is sent twice. */
export function sample(count: number): ParcelScanned[] {
  const scans = [0, 1, 2, 3].flatMap(n =>
    Array.from({ length: count }, (_, parcel) => parcel)
      .filter(parcel => n < 3 || parcel % 4 !== 0)
      .map(parcel => scan(`parcel-${parcel}`, n)),
  )
  return scans.flatMap((one, n) => (n % 5 === 0 ? [one, one] : [one]))
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { parcels: { type: 'string', default: '10' } } })
  const { stream } = readSettings()
  const url = process.env.ONCEWARD_RABBITMQ_URL!
  const scans = sample(Number(values.parcels))
  await createStream(url, stream)
  await send(url, stream, scans)
  console.log(`${scans.length} scans confirmed by ${stream}`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()

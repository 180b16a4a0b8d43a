import { createPostgresSource, postgresQueue } from '../../src/drivers/postgres/queue/index.ts'
import { receiveCount, texts } from './queue-under-test.ts'

const [url, queue] = process.argv.slice(2) as [string, string]
const source = createPostgresSource(postgresQueue(queue, { url, leaseMs: 4_000 }), {})
const subscription = await source.open({ inFlightMax: 10, inFlightBytesMax: 1_000, onEvent: () => {} })
console.log(`holding ${texts(await receiveCount(subscription, 2))}`)

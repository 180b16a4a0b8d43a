import { createInterface } from 'node:readline'
import { createKafkaSource } from '../../src/drivers/kafka/source.ts'
import { type TopicOptions, topic } from '../../src/drivers/kafka/topic.ts'
import type { Delivery } from '../../src/ports/source.ts'
import { logOptions } from '../../src/testing/memory-checkpoints.ts'

/**
 * A member in a process of its own, to be killed and frozen. Says on stdout what it sees, does what it reads
 * from stdin.
 */
interface Orders {
  readonly bootstrap: string
  readonly topic: string
  readonly options: TopicOptions
  /** Settles as soon as it receives; otherwise it holds on until told. */
  readonly settles: boolean
}

const orders = JSON.parse(process.argv[2]!) as Orders
const say = (line: Record<string, unknown>) => process.stdout.write(`${JSON.stringify(line)}\n`)
const held: Delivery[] = []

const source = createKafkaSource(topic(orders.topic, orders.options), { bootstrap: orders.bootstrap })
const subscription = await source.open({
  inFlightMax: 1_000,
  inFlightBytesMax: 64 * 1024 * 1024,
  onEvent: event => say(event),
  log: logOptions(),
})

createInterface({ input: process.stdin }).on('line', async line => {
  if (line === 'look') {
    const live = held.filter(delivery => subscription.isLive(delivery)).length
    const { missed } = await subscription.settle(held)
    say({ kind: 'looked', live, missed, held: held.length })
  } else if (line === 'close') {
    await subscription.close()
    say({ kind: 'closed' })
    process.exit(0)
  }
})

for (;;) {
  const deliveries = await subscription.receive(1_000)
  if (deliveries.length === 0) break
  held.push(...deliveries)
  say({ kind: 'got', records: deliveries.map(({ position, body }) => `${position} ${body}`) })
  if (orders.settles) await subscription.settle(deliveries)
}

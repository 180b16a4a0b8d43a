import { ConsumerProcess, realEnvironment, type Source } from 'onceward'
import { createPool, createPostgresStore } from 'onceward/postgres'
import { topicSource } from '../contenders/logs/onceward-log.ts'
import { defineIncrements } from '../contenders/onceward.ts'
import type { Place } from '../place.ts'

/** One look at a member of the group. */
export interface MemberSample {
  /** Milliseconds of the monotonic clock that all processes of a machine share. */
  readonly atMs: number
  readonly held: readonly string[]
  /** Records settled so far, by partition. */
  readonly settled: Readonly<Record<string, number>>
}

const sampleMs = 50
const [taskText, placeText] = process.argv.slice(2)
const place = JSON.parse(placeText!) as Place
const { declaration, source } = topicSource(place, JSON.parse(taskText!))
const held = new Set<string>()
const settled: Record<string, number> = {}

const watched: Source = {
  ...source,
  async open(options) {
    const subscription = await source.open({
      ...options,
      onEvent: event => {
        if (event.kind === 'assigned') for (const partition of event.partitions) held.add(partition)
        if (event.kind === 'revoked') for (const partition of event.partitions) held.delete(partition)
        options.onEvent(event)
      },
    })
    const settle = subscription.settle.bind(subscription)
    return Object.assign(subscription, {
      settle: (deliveries: Parameters<typeof settle>[0]) => {
        for (const { partition } of deliveries) settled[partition] = (settled[partition] ?? 0) + 1
        return settle(deliveries)
      },
    })
  },
}

const consumer = new ConsumerProcess({
  consumer: defineIncrements({}, declaration),
  source: watched,
  store: createPostgresStore({ pool: createPool(place.databaseUrl) }),
  env: realEnvironment(),
  instance: `bench ${process.pid}`,
})
await consumer.start()
setInterval(() => {
  const sample: MemberSample = { atMs: Number(process.hrtime.bigint()) / 1e6, held: [...held], settled }
  if (process.connected) process.send!(sample)
}, sampleMs)
process.on('disconnect', () => process.exit(0))

import { ConsumerProcess, realEnvironment, type Source } from 'onceward'
import { createPool, createPostgresStore } from 'onceward/postgres'
import { defineIncrements, rabbitSource } from '../contenders/onceward.ts'
import type { Place } from '../place.ts'
import type { Increment } from '../workload.ts'

/** One look at the consumer. Times are of the monotonic clock that all processes of a machine share. */
export interface Sample {
  readonly applied: number
  readonly rssBytes: number
  /** Message id → nanoseconds when its delivery arrived and when its commit was known, as text. */
  readonly times: Readonly<Record<string, readonly [arrived: string, committed: string]>>
}

const sampleMs = 50
const [queue, placeText, wantsTimes] = process.argv.slice(2)
const place = JSON.parse(placeText!) as Place
let times: Record<string, [string, string]> = {}

/** Settling follows the commit without a pause, so its call is when the commit is known. */
function timed(source: Source): Source {
  if (wantsTimes !== 'times') return source
  const arrivals = new Map<unknown, string>()
  return {
    ...source,
    async open(options) {
      const subscription = await source.open(options)
      return {
        async receive(max) {
          const deliveries = await subscription.receive(max)
          const now = String(process.hrtime.bigint())
          for (const delivery of deliveries) arrivals.set(delivery, now)
          return deliveries
        },
        settle(deliveries) {
          const now = String(process.hrtime.bigint())
          for (const delivery of deliveries) {
            const { id } = JSON.parse(delivery.body.toString()) as Increment
            times[id] = [arrivals.get(delivery)!, now]
            arrivals.delete(delivery)
          }
          return subscription.settle(deliveries)
        },
        isLive: delivery => subscription.isLive(delivery),
        close: () => subscription.close(),
      }
    },
  }
}

const pool = createPool(place.databaseUrl)
const { declaration, source } = rabbitSource(place)(queue!)
const consumer = new ConsumerProcess({
  consumer: defineIncrements({}, declaration),
  source: timed(source),
  store: createPostgresStore({ pool }),
  env: realEnvironment(),
  instance: 'bench',
})
await consumer.start()
setInterval(() => {
  const sample: Sample = {
    applied: consumer.tally.outcomes.applied ?? 0,
    rssBytes: process.memoryUsage.rss(),
    times,
  }
  times = {}
  if (process.connected) process.send!(sample)
}, sampleMs)
process.on('disconnect', () => void consumer.drain().then(() => process.exit(0)))

import { setTimeout as sleep } from 'node:timers/promises'
import {
  ConsumerProcess,
  defineConsumer,
  realEnvironment,
  type Source,
  type SourceDeclaration,
  type SqlTransaction,
} from 'onceward'
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
const [queue, placeText, wantsTimes, who] = process.argv.slice(2)
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

const slowMs = 500
const slowOneIn = 100
let calls = 0

/** What it adds is the same; the time of the slow call is spent before its statement. */
function defineSlow(declaration: SourceDeclaration) {
  return defineConsumer<Increment, SqlTransaction>({
    name: 'increments_beside_slow_ones',
    owner: 'bench',
    risk: 'projection',
    source: declaration,
    identity: { id: message => message.id },
    async handle({ message, tx }) {
      if (++calls % slowOneIn === 0) await sleep(slowMs)
      await tx.query('update counter set total = total + $2 where key = $1', [message.key, message.amount])
    },
  })
}

const define = (declaration: SourceDeclaration) => {
  if (who === 'slow neighbour') return defineSlow(declaration)
  return defineIncrements({ form: who === 'per message' ? 'message' : 'batch' }, declaration)
}

const pool = createPool(place.databaseUrl)
const { declaration, source } = rabbitSource(place)(queue!)
const consumer = new ConsumerProcess({
  consumer: define(declaration),
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

import { ConsumerProcess, realEnvironment, type Source, type SqlTransaction } from 'onceward'
import { createPool, createPostgresSource, createPostgresStore, postgresQueue } from 'onceward/postgres'
import { type OpenContender, startClock } from '../contenders/contender.ts'
import { defineIncrements } from '../contenders/onceward.ts'
import { fillPostgres } from '../fill.ts'
import { queueNameOf } from '../place.ts'
import { bodiesOf, type Increment } from '../workload.ts'
import type { MeasureCurve } from './curves.ts'
import { measurePoint } from './measure-point.ts'

const counts = [1, 10, 30, 100]

/**
 * Many consumers of one process on one database, each with a queue and connections of its own. They receive once
 * all of them have started.
 */
function openMany(consumers: number): OpenContender {
  return async ({ databaseUrl }) =>
    async ({ queue, load }) => {
      const started = Promise.withResolvers<void>()
      const pools = Array.from({ length: consumers }, () => createPool(databaseUrl, { max: 4 }))
      const processes = pools.map((pool, n) => {
        const declaration = postgresQueue(`${queue}-${n}`)
        return new ConsumerProcess<Increment, SqlTransaction>({
          consumer: defineIncrements({ name: `increments_${n}` }, declaration),
          source: receivingAfter(started.promise, createPostgresSource(declaration, { pool })),
          store: createPostgresStore({ pool }),
          env: realEnvironment(),
          instance: 'bench',
        })
      })
      for (const process of processes) await process.start()
      const seconds = startClock()
      started.resolve()
      while (appliedBy(processes) < load.count) await new Promise(resolve => setTimeout(resolve, 2))
      const took = seconds()
      for (const process of processes) await process.drain()
      for (const pool of pools) await pool.end()
      return took
    }
}

function receivingAfter(started: Promise<void>, source: Source): Source {
  return {
    ...source,
    async open(options) {
      const subscription = await source.open(options)
      const receive = subscription.receive.bind(subscription)
      return Object.assign(subscription, {
        receive: async (max: number) => {
          await started
          return receive(max)
        },
      })
    },
  }
}

function appliedBy(processes: readonly ConsumerProcess<Increment, SqlTransaction>[]): number {
  return processes.reduce((sum, { tally }) => sum + (tally.outcomes.applied ?? 0), 0)
}

const nameOf = (consumers: number) => `${consumers} consumers`

export const manyConsumers = counts.map(count => ({ name: nameOf(count), open: openMany(count) }))

/** All of them share the messages: what grows is the number of consumers. */
export const consumersCurve: MeasureCurve = async (place, { rounds, quick }, say) => {
  const points = []
  const count = quick ? 6_000 : 60_000
  for (const consumers of counts) {
    const prepare = async (round: number) => {
      await place.reset()
      const queue = queueNameOf(nameOf(consumers))
      const share = count / consumers
      for (let n = 0; n < consumers; n++)
        await fillPostgres(place.pool, `${queue}-${n}`, bodiesOf({ ids: 'random', round, count: share }))
      return { queue, group: '', partitions: 1, load: { ids: 'random', round, count } as const }
    }
    points.push(
      await measurePoint(place, { contender: nameOf(consumers), at: consumers, rounds, prepare }, say),
    )
  }
  return [{ name: 'PostgreSQL queues, batch form', axis: 'consumers of one process', points }]
}

import { realEnvironment } from 'onceward'
import { createPool, createPostgresSource, postgresQueue } from 'onceward/postgres'
import { logOptions } from 'onceward/testing'
import { PgBoss } from 'pg-boss'
import { changesOf, incrementCounters } from '../contenders/apply-batch.ts'
import { type OpenContender, startClock } from '../contenders/contender.ts'
import type { Place } from '../place.ts'
import type { Increment } from '../workload.ts'

/**
 * The same job on pg-boss 12 in transactional mode: our own queue is read and settled after the insert, as
 * stored mode does, and workers apply 500 jobs per transaction, two at a time. Duplicates inside a batch are
 * taken out first, as it requires.
 */
export const openPgBoss: OpenContender = async place => {
  const boss = new PgBoss({ connectionString: place.databaseUrl, max: 10 })
  boss.on('error', () => {})
  await boss.start()
  let rounds = 0
  return async ({ queue, load }) => {
    const name = `bench_${++rounds}`
    await boss.createQueue(name, {
      partition: true,
      deleteAfterSeconds: 3_600,
      retryLimit: 5,
      retryBackoff: true,
    })
    const reading = await readInto(place, queue, jobs => boss.insert(name, jobs))
    const seconds = startClock()
    let applied = 0
    const options = {
      batchSize: 500,
      localConcurrency: 2,
      transactional: true,
      burstWhenBatchFull: true,
      pollingIntervalSeconds: 0.5,
    } as const
    await boss.work<Increment, void, typeof options>(name, options, async (jobs, tx) => {
      await tx.executeSql(incrementCounters, changesOf(jobs.map(job => job.data)))
      applied += jobs.length
    })
    while (applied < load.count) await new Promise(resolve => setTimeout(resolve, 1))
    const took = seconds()
    await boss.offWork(name)
    await reading.stop()
    return took
  }
}

interface Job {
  readonly id: string
  readonly data: Increment
}

async function readInto(place: Place, queue: string, insert: (jobs: Job[]) => Promise<unknown>) {
  const pool = createPool(place.databaseUrl, { max: 4 })
  const { log } = realEnvironment()
  const source = createPostgresSource(postgresQueue(queue), { pool, log })
  const subscription = await source.open({
    inFlightMax: 2_000,
    inFlightBytesMax: 64 * 1024 * 1024,
    onEvent() {},
    log: logOptions(),
  } as never)
  const read = (async () => {
    for (;;) {
      const deliveries = await subscription.receive(1_000)
      if (deliveries.length === 0) return
      const jobs = new Map<string, Job>()
      for (const { body } of deliveries) {
        const data = JSON.parse(body.toString()) as Increment
        jobs.set(data.id, { id: data.id, data })
      }
      await insert([...jobs.values()])
      await subscription.settle(deliveries)
    }
  })()
  return {
    async stop() {
      await subscription.close()
      await read
      await pool.end()
    },
  }
}

import { PgBoss } from 'pg-boss'
import { changesOf, incrementCounters } from '../contenders/apply-batch.ts'
import { type Increment, incrementsOf } from '../workload.ts'
import { chunksOf, type Peer } from './peer.ts'

const workOptions = {
  batchSize: 500,
  localConcurrency: 2,
  transactional: true,
  burstWhenBatchFull: true,
  pollingIntervalSeconds: 0.5,
} as const

async function startBoss(connectionString: string): Promise<PgBoss> {
  const boss = new PgBoss({
    connectionString,
    max: 10,
    superviseIntervalSeconds: 5,
    monitorIntervalSeconds: 5,
  })
  boss.on('error', () => {})
  await boss.start()
  return boss
}

export const pgBoss: Peer = {
  name: 'pg-boss, transactional',
  reads: 'postgres',
  packageName: 'pg-boss',
  configuration:
    'transactional: true, batchSize 500, localConcurrency 2, burstWhenBatchFull, partition: true, ' +
    'heartbeatSeconds 10, supervise and monitor every 5 s; one set-based update a batch',
  storesIds: true,
  handlesBatches: true,
  async fill({ databaseUrl, queue }, load) {
    const boss = await startBoss(databaseUrl)
    await boss.createQueue(queue, { partition: true, retryLimit: 5, heartbeatSeconds: 10 })
    for (const chunk of chunksOf(incrementsOf(load), 1_000))
      await boss.insert(
        queue,
        chunk.map(data => ({ id: data.id, data })),
      )
    await boss.stop({ graceful: false })
  },
  async work({ databaseUrl, queue }) {
    const boss = await startBoss(databaseUrl)
    await boss.work<Increment, void, typeof workOptions>(queue, workOptions, async (jobs, tx) => {
      await tx.executeSql(incrementCounters, changesOf(jobs.map(job => job.data)))
    })
  },
}

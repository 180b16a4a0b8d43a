import { makeWorkerUtils, run } from 'graphile-worker'
import pg from 'pg'
import type { Place } from '../place.ts'
import { incrementsOf } from '../workload.ts'
import { type Effect, markedEffect, plainEffect } from './effect.ts'
import { chunksOf, handlerConnections, type Peer } from './peer.ts'

const workerOptions = {
  concurrentJobs: handlerConnections,
  maxPoolSize: handlerConnections + 2,
  localQueue: { size: 500 },
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0,
}

function graphileWorker(name: string, openEffect: (place: Place) => Effect, storesIds: boolean): Peer {
  return {
    name,
    reads: 'postgres',
    packageName: 'graphile-worker',
    configuration:
      `concurrentJobs ${handlerConnections}, localQueue.size 500, completeJobBatchDelay 0; after the kill ` +
      'forceUnlockWorkers for the dead worker, which otherwise keeps its jobs for four hours',
    storesIds,
    handlesBatches: false,
    async fill({ databaseUrl }, load) {
      const utils = await makeWorkerUtils({ connectionString: databaseUrl })
      await utils.migrate()
      for (const chunk of chunksOf(incrementsOf(load), 1_000))
        await utils.addJobs(chunk.map(payload => ({ identifier: 'increment', payload })))
      await utils.release()
    },
    async work(place, start) {
      if (start === 'after a kill') await unlockDead(place)
      const effect = openEffect(place)
      await run({
        connectionString: place.databaseUrl,
        preset: { worker: workerOptions },
        taskList: { increment: effect },
        noHandleSignals: true,
      })
    },
  }
}

async function unlockDead({ databaseUrl }: Place): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  const { rows } = await client.query(
    'select distinct locked_by as id from graphile_worker._private_jobs where locked_by is not null',
  )
  await client.end()
  const utils = await makeWorkerUtils({ connectionString: databaseUrl })
  await utils.forceUnlockWorkers(rows.map(row => row.id as string))
  await utils.release()
}

export const graphileWorkers: readonly Peer[] = [
  graphileWorker('graphile-worker', plainEffect, false),
  graphileWorker('graphile-worker, own marker', markedEffect, true),
]

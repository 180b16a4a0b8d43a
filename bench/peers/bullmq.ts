import { createPostgresBackend, Queue, Worker } from 'bullmq'
import { Redis } from 'ioredis'
import type { Place } from '../place.ts'
import { incrementsOf } from '../workload.ts'
import { type Effect, markedEffect, plainEffect } from './effect.ts'
import { chunksOf, handlerConnections, type Peer, type PeerPlace } from './peer.ts'

type Backend = 'postgres' | 'redis'

const concurrency = 100
const recovery = { lockDuration: 5_000, stalledInterval: 5_000 }
/** Completed jobs are removed, as the guide for production says; otherwise they pile up in memory. */
const jobOptions = { removeOnComplete: true, attempts: 3 }

/** Its arguments after the name and the handler: options, and the factory of the backend. */
function backendOf(backend: Backend, place: PeerPlace, options: object): [object, unknown?] {
  if (backend === 'redis') {
    const connection = new Redis(place.redisUrl, { maxRetriesPerRequest: null })
    return [{ ...options, connection }]
  }
  const connection = { connectionString: place.databaseUrl, max: handlerConnections, migrate: true }
  return [{ ...options, connection }, createPostgresBackend]
}

function bullmq(backend: Backend, marker: boolean, openEffect: (place: Place) => Effect): Peer {
  const server = backend === 'redis' ? 'Redis' : 'PostgreSQL'
  return {
    name: `BullMQ on ${server}${marker ? ', own marker' : ''}`,
    reads: backend,
    packageName: 'bullmq',
    configuration:
      `concurrency ${concurrency}, removeOnComplete, addBulk, lockDuration and stalledInterval 5 s` +
      (backend === 'redis'
        ? ', appendonly with everysec'
        : `, createPostgresBackend with ${handlerConnections} connections`),
    storesIds: marker,
    handlesBatches: false,
    async fill(place, load) {
      const queue = new Queue(place.queue, ...backendOf(backend, place, {}))
      for (const chunk of chunksOf(incrementsOf(load), 1_000))
        await queue.addBulk(chunk.map(data => ({ name: 'increment', data, opts: jobOptions })))
    },
    async work(place) {
      const effect = openEffect(place)
      const options = { concurrency, ...recovery }
      const worker = new Worker(place.queue, job => effect(job.data), ...backendOf(backend, place, options))
      worker.on('error', () => {})
    },
  }
}

export const bullmqs: readonly Peer[] = (['postgres', 'redis'] as const).flatMap(backend => [
  bullmq(backend, false, plainEffect),
  bullmq(backend, true, markedEffect),
])

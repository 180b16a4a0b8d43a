import pg from 'pg'
import { applyBatch } from '../apply-batch.ts'
import { applyEach } from '../apply-each.ts'
import { type OpenContender, startClock } from '../contender.ts'
import { Batches } from './batches.ts'
import { CommittedOffsets } from './committed-offsets.ts'
import type { ConnectLog, LogRecord } from './log-reader.ts'

const batchSize = 500

/**
 * The hand-written batched inbox over a log: two batches of 500 in flight, markers and effects in one
 * transaction, then the offsets.
 */
export function openHandMarkers(
  connect: ConnectLog,
  apply: typeof applyBatch = applyBatch,
  config: pg.ClientConfig = {},
): OpenContender {
  return async place => {
    const client = await connect(place)
    const connections = [1, 2].map(() => new pg.Client({ connectionString: place.databaseUrl, ...config }))
    for (const connection of connections) await connection.connect()
    return async task => {
      const reader = await client.open(task)
      const offsets = new CommittedOffsets(reader)
      let waiting: LogRecord[] = []
      const batches = new Batches(reader, task.load.count, record => waiting.push(record))
      const take = (isLast: boolean) => {
        if (waiting.length === 0 || (waiting.length < batchSize && !isLast)) return null
        const batch = waiting.slice(0, batchSize)
        waiting = waiting.slice(batchSize)
        return { batch, done: offsets.begin(batch) }
      }
      const seconds = startClock()
      await Promise.all(
        connections.map(async connection => {
          for (let one = await batches.next(take); one !== null; one = await batches.next(take)) {
            await apply(
              connection,
              one.batch.map(({ body }) => body),
            )
            one.done()
          }
        }),
      )
      const took = seconds()
      await offsets.flush()
      await reader.close()
      return took
    }
  }
}

/** The same with a statement for each message. */
export function openHandPreparedLog(connect: ConnectLog): OpenContender {
  return openHandMarkers(connect, applyEach, { pipeline: true } as pg.ClientConfig)
}

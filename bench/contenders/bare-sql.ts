import pg from 'pg'
import { bodiesOf } from '../workload.ts'
import { applyBatch } from './apply-batch.ts'
import { type OpenContender, startClock } from './contender.ts'

const batchSize = 500

/** No broker: the same batches of 500, two in flight, from bodies already in memory. */
export const openBareSql: OpenContender = async place => {
  const clients = [1, 2].map(() => new pg.Client({ connectionString: place.databaseUrl }))
  for (const client of clients) await client.connect()
  return async ({ load }) => {
    const bodies = [...bodiesOf(load)]
    let next = 0
    const seconds = startClock()
    await Promise.all(
      clients.map(async client => {
        while (next < bodies.length) {
          const from = next
          next += batchSize
          await applyBatch(client, bodies.slice(from, from + batchSize))
        }
      }),
    )
    return seconds()
  }
}

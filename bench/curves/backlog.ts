import { createQueue } from 'onceward/postgres'
import { type PreparedPlace, queueNameOf } from '../place.ts'
import { keyCount } from '../workload.ts'
import type { MeasureCurve } from './curves.ts'
import { measurePoint } from './measure-point.ts'

const contender = 'postgres, batch form'

/** Messages of a backlog that are consumed; the rest only waits. */
const taken = 10_000

export const backlogCurve: MeasureCurve = async (place, { rounds, quick }, say) => {
  const points = []
  for (const backlog of quick ? [10_000, 100_000] : [10_000, 100_000, 1_000_000, 10_000_000]) {
    const queue = queueNameOf(`backlog ${backlog}`)
    let waiting = 0
    const prepare = async (round: number) => {
      if (waiting < taken) {
        await place.reset()
        await fillBacklog(place, queue, backlog)
        waiting = backlog
      }
      waiting -= taken
      return { queue, group: '', partitions: 1, load: { ids: 'random', round, count: taken } as const }
    }
    points.push(await measurePoint(place, { contender, at: backlog, rounds, prepare }, say))
  }
  await place.reset()
  return [{ name: 'PostgreSQL queue, batch form', axis: 'messages that wait in the queue', points }]
}

async function fillBacklog({ pool }: PreparedPlace, queue: string, messages: number): Promise<void> {
  const step = 500_000
  await createQueue(pool as never, queue)
  for (let from = 0; from < messages; from += step) {
    await pool.query(
      `insert into onceward.queue_message (queue_id, body)
       select (select id from onceward.queue where name = $1),
         convert_to(json_build_object('id', gen_random_uuid(), 'key', n % ${keyCount}, 'amount', 1,
           'pad', repeat('x', 150))::text, 'UTF8')
       from generate_series($2::integer, $3::integer) as n`,
      [queue, from + 1, Math.min(messages, from + step)],
    )
  }
  await pool.query('vacuum analyze onceward.queue_message')
}

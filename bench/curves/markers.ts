import { fillPostgres } from '../fill.ts'
import { loadMarkers } from '../markers/load-markers.ts'
import { queueNameOf } from '../place.ts'
import { bodiesOf, type IdOrder } from '../workload.ts'
import type { Curve, MeasureCurve } from './curves.ts'
import { measurePoint } from './measure-point.ts'

const contender = 'postgres, batch form'

export const markersCurve: MeasureCurve = async (place, { rounds, quick }, say) => {
  const curves: Curve[] = []
  for (const ids of ['ordered', 'random'] as const) {
    const points = []
    for (const markers of quick ? [10_000, 100_000] : [1_000_000, 5_000_000, 20_000_000, 50_000_000]) {
      const fill = async (round: number) => {
        // The first round registers the consumer whose markers are loaded.
        if (round === 0) await place.reset()
        if (round === 1) await loadMarkers(place.pool, ids, markers)
        return task(ids, round)
      }
      points.push(await measurePoint(place, { contender, at: markers, rounds, prepare: fill }, say))
    }
    curves.push({ name: `PostgreSQL queue, ${ids} ids`, axis: 'markers of the consumer', points })
  }
  await place.reset()
  return curves

  async function task(ids: IdOrder, round: number) {
    const queue = queueNameOf('markers')
    const load = { ids, round, count: quick ? 2_000 : 20_000 } as const
    await place.pool.query('truncate onceward.queue_message')
    await fillPostgres(place.pool, queue, bodiesOf(load))
    return { queue, group: '', partitions: 1, load }
  }
}

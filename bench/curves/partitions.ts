import type { MeasureCurve } from './curves.ts'
import { measurePoint } from './measure-point.ts'

const contender = 'kafka, batch form'

export const partitionsCurve: MeasureCurve = async (place, { rounds, quick }, say) => {
  const points = []
  for (const partitions of quick ? [1, 10] : [1, 10, 100, 1_000]) {
    const prepare = async (round: number) => {
      await place.reset()
      const load = { ids: 'random', round, count: quick ? 10_000 : 100_000 } as const
      return { ...(await place.logs.kafka!.prepare(partitions, load, contender)), partitions, load }
    }
    points.push(await measurePoint(place, { contender, at: partitions, rounds, prepare }, say))
    await place.logs.kafka!.deleteBefore(Number.POSITIVE_INFINITY)
  }
  return [{ name: 'Kafka, batch form', axis: 'partitions of one consumer', points }]
}

import { fillRabbitmq } from '../fill.ts'
import { queueNameOf } from '../place.ts'
import { bodiesOf } from '../workload.ts'
import type { MeasureCurve } from './curves.ts'
import { measurePoint } from './measure-point.ts'

const contender = 'rabbitmq, batch form'

/** Bytes of a body, and how many of them. The contract's limit is 1 MiB. */
const sizes = [
  [250, 40_000],
  [4_000, 20_000],
  [64_000, 4_000],
  [1_000_000, 400],
] as const

export const payloadCurve: MeasureCurve = async (place, { rounds, quick }, say) => {
  const points = []
  for (const [bytes, most] of sizes) {
    const count = quick ? most / 10 : most
    const prepare = async (round: number) => {
      await place.reset()
      const queue = queueNameOf(`payload ${bytes}`)
      const load = { ids: 'random', round, count, bytes } as const
      await fillRabbitmq(place.rabbitmqUrl!, queue, bodiesOf(load))
      return { queue, group: '', partitions: 1, load }
    }
    points.push(await measurePoint(place, { contender, at: bytes, rounds, prepare }, say))
  }
  return [{ name: 'RabbitMQ, batch form', axis: 'bytes of a message', points }]
}

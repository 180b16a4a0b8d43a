import { connect } from 'amqplib'
import { declareQueue, publish } from '../fill.ts'
import { median } from '../median.ts'
import { type PreparedPlace, queueNameOf } from '../place.ts'
import { bodiesOf } from '../workload.ts'
import { ObservedConsumer } from './observed-consumer.ts'

/** Resident memory of the consumer's process in MiB: medians of the first and last third of the messages. */
export interface Memory {
  readonly count: number
  readonly rate: number
  readonly firstThirdMib: number
  readonly lastThirdMib: number
  readonly mostMib: number
}

/** The publisher stays at most this far ahead, so that neither side holds everything. */
const aheadMax = 20_000
/** Code is compiled and heaps find their size in the first tenth. */
const warmUpShare = 0.1

export async function measureMemory(place: PreparedPlace, count: number): Promise<Memory> {
  await place.reset()
  const queue = queueNameOf('memory')
  const connection = await connect(place.rabbitmqUrl!)
  const channel = await connection.createConfirmChannel()
  await declareQueue(channel, queue)
  const consumer = await ObservedConsumer.start(queue, place, 'samples')
  const began = performance.now()
  let seconds = 0
  try {
    let published = 0
    for (const body of bodiesOf({ ids: 'random', round: 0, count })) {
      if (!publish(channel, queue, body)) await new Promise(resolve => channel.once('drain', resolve))
      if (++published % 1_000 > 0) continue
      await channel.waitForConfirms()
      await consumer.reached(published - aheadMax)
    }
    await consumer.reached(count)
    seconds = (performance.now() - began) / 1_000
  } finally {
    await consumer.end()
    await connection.close()
  }
  await place.verify('memory', count)
  return { count, rate: count / seconds, ...thirds(consumer, count) }
}

function thirds({ samples }: ObservedConsumer, count: number) {
  const warm = count * warmUpShare
  const third = (count - warm) / 3
  const mib = (from: number, to: number) =>
    samples
      .filter(({ applied }) => applied >= from && applied <= to)
      .map(({ rssBytes }) => rssBytes / 2 ** 20)
  return {
    firstThirdMib: median(mib(warm, warm + third)),
    lastThirdMib: median(mib(count - third, count)),
    mostMib: mib(0, count).reduce((most, one) => Math.max(most, one), 0),
  }
}

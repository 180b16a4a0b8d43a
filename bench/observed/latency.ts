import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from 'amqplib'
import { declareQueue, publish } from '../fill.ts'
import { median, quantile } from '../median.ts'
import { type PreparedPlace, queueNameOf } from '../place.ts'
import { bodiesOf, type Increment } from '../workload.ts'
import { type Observed, ObservedConsumer } from './observed-consumer.ts'

/** All in milliseconds. */
export interface Latency {
  /** From the broker's confirm to the publisher, to the commit of the effect. */
  readonly p50: number
  readonly p95: number
  /** The part of it inside the consumer: from arrival of the delivery to the commit. */
  readonly insideP50: number
  /** One inserted row and its commit, measured between the messages. */
  readonly commitP50: number
  /**
   * From confirm to commit with the same effect in a statement of its own, and nothing against duplicates.
   */
  readonly unprotectedP50: number
}

type Times = Pick<Latency, 'p50' | 'p95' | 'insideP50' | 'commitP50'>

const perSecond = 50
const warmUp = 50

/** Messages come one by one: the time a library waits to fill a batch shows here. */
export async function measureLatency(place: PreparedPlace, seconds: number): Promise<Latency> {
  const unprotected = await measureOne(place, seconds, 'unprotected')
  return { ...(await measureOne(place, seconds, 'onceward')), unprotectedP50: unprotected.p50 }
}

async function measureOne(place: PreparedPlace, seconds: number, who: Observed): Promise<Times> {
  await place.reset()
  const queue = queueNameOf(`latency ${who}`)
  const connection = await connect(place.rabbitmqUrl!)
  const channel = await connection.createConfirmChannel()
  await declareQueue(channel, queue)
  const consumer = await ObservedConsumer.start(queue, place, 'times', who)
  const confirmed = new Map<string, bigint>()
  const commitMs: number[] = []
  const count = warmUp + perSecond * seconds
  try {
    const began = performance.now()
    let index = 0
    for (const body of bodiesOf({ ids: 'random', round: 0, count })) {
      const { id } = JSON.parse(body.toString()) as Increment
      publish(channel, queue, body, () => confirmed.set(id, process.hrtime.bigint()))
      await sleep(1_000 / perSecond / 2)
      commitMs.push(await oneCommit(place, index))
      index++
      await sleep(Math.max(0, began + (index * 1_000) / perSecond - performance.now()))
    }
    await consumer.reached(count)
    await sleep(200)
  } finally {
    await consumer.end()
    await connection.close()
  }
  await place.verify(`latency, ${who}`, count, who === 'onceward' ? count : 0)
  return summarise(consumer, confirmed, commitMs)
}

function summarise(
  consumer: ObservedConsumer,
  confirmed: Map<string, bigint>,
  commitMs: readonly number[],
): Times {
  const times = Object.assign({}, ...consumer.samples.map(sample => sample.times)) as Record<
    string,
    [string, string]
  >
  const whole: number[] = []
  const inside: number[] = []
  for (const id of [...confirmed.keys()].slice(warmUp)) {
    const [arrived, committed] = times[id]!
    whole.push(Number(BigInt(committed) - confirmed.get(id)!) / 1e6)
    inside.push(Number(BigInt(committed) - BigInt(arrived)) / 1e6)
  }
  return {
    p50: median(whole),
    p95: quantile(whole, 0.95),
    insideP50: median(inside),
    commitP50: median(commitMs.slice(warmUp)),
  }
}

async function oneCommit({ pool }: PreparedPlace, id: number): Promise<number> {
  const began = performance.now()
  await pool.query('insert into commit_probe (id) values ($1) on conflict (id) do update set at = now()', [
    id,
  ])
  return performance.now() - began
}

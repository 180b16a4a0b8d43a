import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from 'amqplib'
import { declareQueue, publish } from '../fill.ts'
import { median, quantile } from '../median.ts'
import { type PreparedPlace, queueNameOf } from '../place.ts'
import { bodiesOf, type Increment } from '../workload.ts'
import { type Observed, ObservedConsumer } from './observed-consumer.ts'

/** Milliseconds from the broker's confirm to the publisher, to the commit of the effect. */
export interface Times {
  readonly p50: number
  readonly p95: number
  readonly p99: number
  /** The part of it inside the consumer: from arrival of the delivery to the commit. */
  readonly insideP50: number
  /** One inserted row and its commit, measured between the messages. */
  readonly commitP50: number
}

/** Of the batch form, and of whom it is compared with. */
export interface Latency extends Times {
  readonly beside: Readonly<Record<Exclude<Observed, 'onceward'>, Times>>
}

interface Samples {
  readonly whole: number[]
  readonly inside: number[]
  readonly commits: number[]
}

const perSecond = 50
const warmUp = 50
const all: readonly Observed[] = ['onceward', 'per message', 'slow neighbour', 'by hand', 'unprotected']

/**
 * Messages come one by one: the time a library waits to fill a batch shows here. The rounds of all contenders
 * are in turns, and their samples are put together: a p99 needs thousands of them.
 */
export async function measureLatency(
  place: PreparedPlace,
  { rounds, latencySeconds }: { rounds: number; latencySeconds: number },
  say: (line: string) => void,
): Promise<Latency> {
  const samples = new Map(
    all.map(who => [who, { whole: [], inside: [], commits: [] } satisfies Samples as Samples]),
  )
  for (let round = 0; round < rounds; round++) {
    for (const who of round % 2 === 0 ? all : all.toReversed()) {
      const found = await measureOne(place, latencySeconds, who)
      for (const kind of ['whole', 'inside', 'commits'] as const) samples.get(who)![kind].push(...found[kind])
      say(`round ${round + 1}  latency, ${who}  p50 ${median(found.whole).toFixed(2)} ms`)
    }
  }
  const { onceward, ...beside } = Object.fromEntries(
    [...samples].map(([who, found]) => [who, timesOf(found)]),
  ) as Record<Observed, Times>
  return { ...onceward, beside }
}

function timesOf({ whole, inside, commits }: Samples): Times {
  return {
    p50: median(whole),
    p95: quantile(whole, 0.95),
    p99: quantile(whole, 0.99),
    insideP50: median(inside),
    commitP50: median(commits),
  }
}

async function measureOne(place: PreparedPlace, seconds: number, who: Observed): Promise<Samples> {
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
  await place.verify(`latency, ${who}`, count, who === 'unprotected' ? 0 : count)
  return summarise(consumer, confirmed, commitMs)
}

function summarise(
  consumer: ObservedConsumer,
  confirmed: Map<string, bigint>,
  commitMs: readonly number[],
): Samples {
  const times = Object.assign({}, ...consumer.samples.map(sample => sample.times)) as Record<
    string,
    [string, string]
  >
  const samples: Samples = { whole: [], inside: [], commits: commitMs.slice(warmUp) }
  for (const id of [...confirmed.keys()].slice(warmUp)) {
    const [arrived, committed] = times[id]!
    samples.whole.push(Number(BigInt(committed) - confirmed.get(id)!) / 1e6)
    samples.inside.push(Number(BigInt(committed) - BigInt(arrived)) / 1e6)
  }
  return samples
}

async function oneCommit({ pool }: PreparedPlace, id: number): Promise<number> {
  const began = performance.now()
  await pool.query('insert into commit_probe (id) values ($1) on conflict (id) do update set at = now()', [
    id,
  ])
  return performance.now() - began
}

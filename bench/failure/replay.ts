import { defineConsumer, openReplay, runConsumer, type SqlTransaction } from 'onceward'
import { topic } from 'onceward/kafka'
import { changesOf, incrementCounters } from '../contenders/apply-batch.ts'
import { median } from '../median.ts'
import { type PreparedPlace, preparePlace } from '../place.ts'
import type { Increment, Load } from '../workload.ts'

/** Messages per second, round by round. */
export interface ReplayRates {
  readonly live: readonly number[]
  readonly replayed: readonly number[]
}

const partitions = 4

/**
 * The same topic twice: consumed live, then by a campaign that finds every message applied. Live is timed
 * from the first delivery; the campaign as a whole, with connecting, its lease and its end.
 */
export async function measureReplay(
  place: PreparedPlace,
  { rounds, count }: { readonly rounds: number; readonly count: number },
  say: (line: string) => void,
): Promise<ReplayRates> {
  const rates = { live: [] as number[], replayed: [] as number[] }
  for (let round = 0; round <= rounds; round++) {
    const load: Load = { ids: 'ordered', round: 900 + round, count }
    const { queue, group } = await place.logs.kafka!.prepare(partitions, load, 'replay')
    await place.reset()
    const consumer = incrementsOf(queue, group)
    const live = count / (await consumeLive(consumer, place, count))
    await place.verify('live', count)
    const replayed = count / (await replayAll(consumer, place))
    await place.verify('replayed', count)
    say(`live ${Math.round(live)}/s, replayed ${Math.round(replayed)}/s${round === 0 ? ' (warm-up)' : ''}`)
    if (round === 0) continue
    rates.live.push(live)
    rates.replayed.push(replayed)
  }
  return rates
}

type Increments = ReturnType<typeof incrementsOf>

function incrementsOf(queue: string, group: string) {
  return defineConsumer<Increment, SqlTransaction>({
    name: 'increments',
    owner: 'bench',
    risk: 'projection',
    source: topic(queue, { start: 'earliest', group }),
    identity: { id: message => message.id },
    async handleBatch({ batch, tx }) {
      await tx.query(incrementCounters, changesOf(batch.map(item => item.message)))
    },
  })
}

async function consumeLive(consumer: Increments, place: PreparedPlace, count: number): Promise<number> {
  const kafkaBootstrap = place.kafkaBootstrap!
  const { databaseUrl } = place
  const running = await runConsumer(consumer, { databaseUrl, kafkaBootstrap, parts: ['consumer'] })
  const tally = () => running.consumer!.tally
  while (tally().delivered === 0) await new Promise(resolve => setTimeout(resolve, 1))
  const began = performance.now()
  while ((tally().outcomes.applied ?? 0) < count) await new Promise(resolve => setTimeout(resolve, 1))
  const seconds = (performance.now() - began) / 1_000
  await running.drain()
  return seconds
}

async function replayAll(consumer: Increments, place: PreparedPlace): Promise<number> {
  const kafkaBootstrap = place.kafkaBootstrap!
  const replay = await openReplay(consumer, { databaseUrl: place.databaseUrl, kafkaBootstrap })
  try {
    const selection = { of: 'log', start: 'first', end: 'next' } as const
    const { id } = await replay.create({ mode: 'replay', selection, reason: 'measured' })
    await replay.preview(id)
    const began = performance.now()
    const { state } = await replay.run(id)
    if (state !== 'ran') throw new Error(`the campaign is ${state}`)
    return (performance.now() - began) / 1_000
  } finally {
    await replay.close()
  }
}

if (import.meta.main) {
  const place = await preparePlace(['postgres', 'kafka'])
  try {
    const { live, replayed } = await measureReplay(place, { rounds: 3, count: 100_000 }, console.error)
    const [one, other] = [median(live), median(replayed)]
    console.log(JSON.stringify({ live: one, replayed: other, share: other / one }))
  } finally {
    await place.drop()
  }
}

import { Admin } from '@platformatic/kafka'
import { connect } from 'amqplib'
import { createQueue } from 'onceward/postgres'
import type { PreparedPlace } from '../../place.ts'
import { handToKafka, handToPostgres, handToRabbit } from './hand-relay.ts'
import { oncewardRelay } from './onceward-relay.ts'
import {
  fillOutbox,
  handOutbox,
  type RelayBroker,
  type RelayContender,
  type RelayPlace,
} from './relay-contender.ts'

/** Messages per second from a filled outbox to a broker that confirmed them. */
export interface RelayRates {
  readonly broker: RelayBroker
  readonly hand: readonly number[]
  readonly ours: readonly number[]
}

interface RelayPlan {
  readonly rounds: number
  readonly effectCount: number
}

export async function measureRelays(
  place: PreparedPlace,
  plan: RelayPlan,
  say: (line: string) => void,
): Promise<readonly RelayRates[]> {
  await place.pool.query(handOutbox)
  const measured: RelayRates[] = []
  for (const hand of [handToKafka, handToRabbit, handToPostgres]) {
    measured.push(await measureBroker(place, hand, plan, say))
  }
  return measured
}

async function measureBroker(
  place: PreparedPlace,
  byHand: RelayContender,
  { rounds, effectCount: count }: RelayPlan,
  say: (line: string) => void,
): Promise<RelayRates> {
  const { broker } = byHand
  const target = `onceward.bench.relay.${process.pid}`
  const { databaseUrl, rabbitmqUrl, kafkaBootstrap } = place
  const there = { databaseUrl, rabbitmqUrl: rabbitmqUrl!, kafkaBootstrap: kafkaBootstrap!, target }
  const remove = await declareTarget(place, broker, target)
  const [hand, ours]: [number[], number[]] = [[], []]
  try {
    for (let round = 0; round <= rounds; round++) {
      const turns = [[byHand, hand] as const, [oncewardRelay(broker), ours] as const]
      for (const [contender, rates] of round % 2 === 0 ? turns : turns.toReversed()) {
        await fillOutbox(place.pool, contender, target, round, count)
        await place.pool.query('checkpoint')
        const rate = count / (await carry(contender, there, count))
        await place.pool.query('truncate onceward.outbox, bench_outbox, onceward.queue_message')
        // The first round only warms up.
        if (round > 0) rates.push(rate)
        say(`round ${round || 'warm-up'}  ${contender.name} to ${broker}  ${Math.round(rate)}/s`)
      }
    }
  } finally {
    await remove()
  }
  return { broker, hand, ours }
}

async function carry(contender: RelayContender, place: RelayPlace, count: number): Promise<number> {
  const { carry, close } = await contender.open(place)
  const began = performance.now()
  await carry(count)
  const seconds = (performance.now() - began) / 1_000
  await close()
  return seconds
}

async function declareTarget(
  { pool, rabbitmqUrl, kafkaBootstrap }: PreparedPlace,
  broker: RelayBroker,
  target: string,
): Promise<() => Promise<void>> {
  if (broker === 'postgres') {
    await createQueue(pool as never, target)
    return async () => {}
  }
  if (broker === 'kafka') {
    const admin = new Admin({
      clientId: 'onceward-bench',
      bootstrapBrokers: kafkaBootstrap!.split(','),
      retries: 10,
    })
    await admin.createTopics({ topics: [target], partitions: 4, replicas: 1 })
    return async () => {
      await admin.deleteTopics({ topics: [target] })
      await admin.close()
    }
  }
  const connection = await connect(rabbitmqUrl!)
  const channel = await connection.createChannel()
  await channel.assertQueue(target, { durable: true, arguments: { 'x-queue-type': 'quorum' } })
  return async () => {
    await channel.deleteQueue(target)
    await connection.close()
  }
}
